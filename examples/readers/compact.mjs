// The encoder `compact`: from its streams to signed labels, segment by segment.

import { Bytes, inflateRaw, inflateZlib } from "./archive.mjs";
import { Decoder, Model, unpackPlanes } from "./entropy.mjs";
import { product, unpackBits } from "./numbers.mjs";
import { hasOffsets, influenceOf, laneLength, segmentsOf, transitions } from "./segments.mjs";

const LEVELS = 40;
const GAINS = [0, 1, 2, 3, 4, 6];
const clip = (level) => Math.min(Math.max(level, 0), LEVELS - 1);

/** The vector w_net of the streams `mask`, `labels` and, with a quantizer, `centroids`.
 *  `valuesOf(bytes, count)` gives the weights that are not quantized. */
export function decodeCompact(streams, shapes, valuesOf) {
  const weights = shapes.reduce((total, shape) => total + product(shape), 0);
  const vector = new Float64Array(weights), kept = new Uint8Array(weights);
  const books = streams.centroids ? readCodebooks(streams.centroids, shapes.length) : null;
  const put = (blocks, signed, multiples, values) => {
    let next = 0;
    for (const { start, size, tensor } of blocks) {
      const centroidOf = books ? (books.length === 1 ? books[0] : books[tensor]).lookup(multiples) : () => values[next];
      for (let index = 0; index < size; index++) {
        const label = signed[start - blocks[0].start + index];
        if (label === 0) continue;
        vector[start + index] = centroidOf(label);
        kept[start + index] = 1;
        next++;
      }
    }
  };
  const segments = segmentsOf(shapes);
  const form = streams.mask[0];
  if (form === 0) {
    const [labels, rest] = books ? [streams.labels, null] : splitLabels(streams.labels);
    const signed = readDeflated(streams.mask.subarray(1), labels, weights);
    put(segments.flat(), signed, false, books ? null : valuesOf(rest, signed.filter((label) => label).length));
    return { vector, kept, books };
  }
  if (form !== 3 && form !== 5) throw new Error(`the form ${form} of a mask is not known`);
  const masks = splitSegments(streams.mask.subarray(1), segments.length);
  const labelStreams = splitSegments(streams.labels, segments.length);
  segments.forEach((blocks, number) => {
    const [labels, rest] = books ? [labelStreams[number], null] : splitLabels(labelStreams[number]);
    const { signed, memory } = (form === 3 ? readAdaptive : readHuffman)(blocks, masks[number], labels);
    put(blocks, signed, memory > 0, books ? null : valuesOf(rest, signed.filter((label) => label).length));
  });
  return { vector, kept, books };
}

/** Label bytes after their length, and the values that follow them. */
function splitLabels(content) {
  const rest = new Bytes(content), size = rest.varint();
  return [rest.take(size), rest.take(rest.left)];
}

function splitSegments(content, count) {
  const rest = new Bytes(content), lengths = [];
  for (let number = 1; number < count; number++) lengths.push(rest.varint());
  return [...lengths.map((length) => rest.take(length)), ...(count ? [rest.take(rest.left)] : [])];
}

// --- codebooks

function readCodebooks(content, tensors) {
  if (content[0] !== 4) return [readCodebook(content)];
  const rest = new Bytes(content.subarray(1));
  return Array.from({ length: tensors }, () => readCodebook(rest.take(rest.varint())));
}

function readCodebook(content) {
  const rest = new Bytes(content), form = rest.byte();
  const wide = (form & 2) !== 0, width = wide ? 8 : 4;
  const number = (bytes, at) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return wide ? view.getFloat64(8 * at, true) : view.getFloat32(4 * at, true);
  };
  if ((form & 1) === 0) {
    const count = rest.varint(), bytes = unpackPlanes(rest.take(rest.left), count, width);
    return codebook(Array.from({ length: count }, (_, at) => number(bytes, at)), null, wide);
  }
  const step = number(rest.take(width), 0), lowest = rest.varint() - 2 ** 17, span = rest.varint();
  const multiples = [];
  unpackBits(rest.take(rest.left), span).forEach((used, index) => used && multiples.push(lowest + index));
  const round = wide ? (value) => value : Math.fround;
  return codebook(multiples.map((multiple) => round(multiple * step)), multiples, wide);
}

function codebook(values, multiples, wide) {
  const negative = values.filter((value) => value < 0).length;
  const byRank = (label) => values[label > 0 ? negative + label - 1 : negative + label];
  return {
    wide,
    lookup(alongTrellis) {
      if (!alongTrellis) return byRank;
      if (!multiples) throw new Error("the multiples of a trellis without a stored grid are not supported by this reader");
      const byMultiple = new Map(multiples.map((multiple, index) => [multiple, values[index]]));
      return (label) => byMultiple.get(label);
    },
  };
}

// --- form 0

function readDeflated(mask, labels, weights) {
  const keep = unpackBits(inflateZlib(mask, Math.ceil(weights / 8)), weights);
  const count = keep.reduce((total, bit) => total + bit, 0);
  let signed;
  if (labels[0] === 0) {
    const negative = labels[1], pairs = inflateZlib(labels.subarray(2), Math.ceil(count / 2));
    signed = (index) => {
      const rank = index % 2 ? pairs[index >> 1] & 15 : pairs[index >> 1] >> 4;
      return rank < negative ? rank - negative : rank - negative + 1;
    };
  } else {
    const bytes = inflateZlib(labels.subarray(1), count * labels[0]);
    const view = new DataView(bytes.buffer);
    signed = (index) => (labels[0] === 1 ? view.getInt8(index) : view.getInt32(4 * index, true));
  }
  let next = 0;
  return Int32Array.from(keep, (bit) => (bit ? signed(next++) : 0));
}

// --- form 3

function readAdaptive(blocks, mask, labels) {
  const rest = new Bytes(mask);
  const zeros = new Decoder(rest.take(rest.varint())), others = new Decoder(labels);
  const levels = readLevels(zeros, blocks).map((level, index) => levelsOf(blocks[index], level));
  const [largest, dense, memory] = [17, 1, 3].map((bits) => zeros.raw(bits, 1)[0]);
  const expected = readExpected(zeros, levels);
  const bitmaps = readBitmaps(blocks, zeros.raw(1, blocks.length), rest.take(rest.left));
  const coder = new MagnitudeCoder({ largest, dense, memory, expected }, zeros, others);
  const magnitudes = blocks.map((block) => new Int32Array(block.size));
  for (const group of groupsOf(blocks, bitmaps)) {
    const gain = GAINS[zeros.raw(3, 1)[0] % GAINS.length];
    coder.code(lanesOf(blocks, group, levels, bitmaps, memory), gain, magnitudes);
  }
  const flat = Int32Array.from(magnitudes.flatMap((part) => [...part]));
  const negative = readSigns(others, flat);
  const signed = memory ? multiplesOf(blocks, flat, memory) : flat;
  let next = 0;
  return { signed: signed.map((magnitude) => (magnitude && negative[next++] ? -magnitude : magnitude)), memory };
}

/** Base and offsets of rows, columns and kernel positions of each block. */
function readLevels(coder, blocks) {
  const bases = coder.raw(6, blocks.length);
  const found = blocks.map((block, index) => ({
    base: bases[index],
    offsets: block.sides.map((side) => new Int32Array(side)),
  }));
  for (let axis = 0; axis < 3; axis++) {
    const coded = found.filter((_, index) => hasOffsets(blocks[index], axis));
    const flat = coder.code(new Model(33, 2), coded.reduce((total, level) => total + level.offsets[axis].length, 0));
    let start = 0;
    for (const level of coded) {
      level.offsets[axis].forEach((_, index, offsets) => (offsets[index] = flat[start++] - 16));
    }
  }
  return found;
}

function levelsOf(block, { base, offsets: [rows, columns, kernel] }) {
  const found = new Uint8Array(block.size);
  let at = 0;
  for (const row of rows) for (const column of columns) for (const place of kernel) found[at++] = clip(base + row + column + place);
  return found;
}

/** Expected magnitude on each level, in 1/16. */
function readExpected(coder, levels) {
  const present = new Set(levels.flatMap((each) => [...new Set(each)]));
  const expected = new Array(LEVELS).fill(1), model = new Model(33, 2);
  let code = 0;
  for (let level = 0; level < LEVELS; level++) {
    if (!present.has(level)) continue;
    code = Math.min(Math.max(code + coder.code(model, 1)[0] - 16, 0), 84);
    expected[level] = Math.round(2 ** (code / 4));
  }
  return expected;
}

/** For each block whose zeros are a bitmap, 1 where a weight is not zero; null for the others. */
function readBitmaps(blocks, flags, content) {
  const total = blocks.reduce((sum, block, index) => sum + (flags[index] ? block.size : 0), 0);
  const bits = total ? unpackBits(inflateZlib(content, Math.ceil(total / 8)), total) : [];
  let start = 0;
  return blocks.map((block, index) => (flags[index] ? bits.subarray(start, (start += block.size)) : null));
}

/** Numbers of blocks, grouped by the shape of neighbourhoods and by whether there is a bitmap. */
function groupsOf(blocks, bitmaps) {
  const groups = new Map();
  blocks.forEach((block, index) => {
    const key = `${bitmaps[index] !== null} ${block.neighbourhood}`;
    groups.set(key, [...(groups.get(key) ?? []), index]);
  });
  return groups.values();
}

function lanesOf(blocks, members, levels, bitmaps, memory) {
  const { positions, neighbourhood } = blocks[members[0]];
  const length = memory ? laneLength(positions) : positions, lanes = [];
  for (const block of members) {
    for (let start = 0; start < blocks[block].size; start += length) {
      const stop = Math.min(start + length, blocks[block].size);
      lanes.push({
        block, start, length: stop - start, levels: levels[block].subarray(start, stop),
        nonZero: bitmaps[block]?.subarray(start, stop), state: 0,
      });
    }
  }
  return { lanes, length, positions, influence: influenceOf(neighbourhood) };
}

/** Models by context; a new one starts from that of the next lower known context. */
class ContextModels {
  constructor(first) {
    this.first = first;
    this.known = new Map();
  }
  of(context) {
    if (!this.known.has(context)) {
      const lower = Math.max(...[...this.known.keys()].filter((known) => known < context));
      this.known.set(context, Number.isFinite(lower) ? this.known.get(lower).successor() : this.first);
    }
    return this.known.get(context);
  }
}

const placeBits = (bucket) => (bucket < 4 ? 0 : (bucket >> 1) - 1);
const lowestOf = (bucket) => (bucket < 4 ? bucket + 1 : ((2 + (bucket % 2)) << placeBits(bucket)) + 1);

function bucketOf(magnitude) {
  const rank = magnitude - 1;
  if (rank < 4) return rank;
  const exponent = 31 - Math.clz32(rank);
  return 2 * exponent + ((rank >> (exponent - 1)) & 1);
}

class MagnitudeCoder {
  constructor(statistics, zeros, others) {
    Object.assign(this, statistics, { zeros, others });
    const buckets = bucketOf(this.largest) + 1;
    this.zeroModels = new ContextModels(new Model(2, 16));
    this.bucketModels = new ContextModels(new Model(buckets));
    this.placeModels = Array.from({ length: buckets }, (_, bucket) => new Model(1 << Math.min(6, placeBits(bucket))));
    this.next = this.memory ? transitions(this.memory) : null;
  }
  /** Decode all lanes of a group into `magnitudes`, one array for each block. */
  code({ lanes, length, positions, influence }, gain, magnitudes) {
    for (let step = 0; step < length; step++) {
      const byContext = Array.from({ length: 2 * LEVELS }, () => []);
      for (const lane of lanes) {
        if (lane.length <= step) continue;
        const known = magnitudes[lane.block].subarray(lane.start, lane.start + lane.length);
        const level = gain ? this.shifted(lane.levels, known, step, positions, influence, gain) : lane.levels[step];
        byContext[level + LEVELS * (lane.state & 1)].push(lane);
      }
      const found = this.readStep(byContext, step);
      for (const [lane, magnitude] of found) {
        magnitudes[lane.block][lane.start + step] = magnitude;
        if (this.next) lane.state = this.next[lane.state][magnitude & 1];
      }
    }
  }
  /** The level of a weight, moved by how its neighbours compare with what their levels let expect. */
  shifted(levels, known, step, positions, influence, gain) {
    const place = step % positions, own = 25 * this.expected[levels[step]];
    if (place === 0) return levels[step];
    let found = own, due = own;
    for (let before = 0; before < place; before++) {
      found += 16 * known[step - place + before] * influence[place][before];
      due += this.expected[levels[step - place + before]] * influence[place][before];
    }
    const ratio = Math.floor((found * 1024) / due);
    let shift = -8;
    while (shift < 8 && ratio >= Math.round(1024 * 2 ** ((shift + 0.5) / gain))) shift++;
    return clip(levels[step] + shift);
  }
  /** Pairs of lane and magnitude for one weight of each lane. */
  readStep(byContext, step) {
    const kept = byContext.map((lanes, context) => {
      if (!lanes.length) return [];
      if (lanes[0].nonZero) return lanes.filter((lane) => lane.nonZero[step]);
      if (this.dense) return lanes;
      const bits = this.zeros.code(this.zeroModels.of(context), lanes.length);
      return lanes.filter((_, index) => bits[index]);
    });
    const found = [];
    kept.forEach((lanes, context) => {
      if (!lanes.length) return;
      const buckets = this.others.code(this.bucketModels.of(context), lanes.length);
      lanes.forEach((lane, index) => found.push([lane, buckets[index]]));
    });
    for (const bucket of [...new Set(found.map((pair) => pair[1]))].sort((one, other) => one - other)) {
      const members = found.filter((pair) => pair[1] === bucket);
      const places = placeBits(bucket) ? this.readPlaces(bucket, members.length) : null;
      members.forEach((pair, index) => pair.push(lowestOf(bucket) + (places ? places[index] : 0)));
    }
    const pairs = found.map(([lane, , magnitude]) => [lane, magnitude]);
    const nonZero = new Set(found.map(([lane]) => lane));
    for (const lanes of byContext) for (const lane of lanes) if (!nonZero.has(lane)) pairs.push([lane, 0]);
    return pairs;
  }
  readPlaces(bucket, count) {
    const noise = Math.max(0, placeBits(bucket) - 6);
    const upper = this.others.code(this.placeModels[bucket], count), lower = this.others.raw(noise, count);
    return upper.map((place, index) => (place << noise) | lower[index]);
  }
}

/** 1 for each non-zero weight that is negative. */
function readSigns(coder, flat) {
  const buckets = [...flat].filter((magnitude) => magnitude).map(bucketOf);
  const negative = new Uint8Array(buckets.length);
  for (const bucket of [...new Set(buckets)].sort((one, other) => one - other)) {
    const members = [...buckets.keys()].filter((index) => buckets[index] === bucket);
    const signs = coder.code(new Model(2, 16, true), members.length);
    members.forEach((index, order) => (negative[index] = signs[order]));
  }
  return negative;
}

/** Multiples of the step along the trellis, from the steps of its path. */
function multiplesOf(blocks, flat, memory) {
  const next = transitions(memory), found = flat.slice();
  for (const block of blocks) {
    const length = laneLength(block.positions), start = block.start - blocks[0].start;
    let state = 0;
    for (let index = 0; index < block.size; index++) {
      if (index % length === 0) state = 0;
      const step = flat[start + index];
      found[start + index] = step ? 2 * step - (state & 1) : 0;
      state = next[state][step & 1];
    }
  }
  return found;
}

// --- form 5

function readHuffman(blocks, mask, labels) {
  const rest = new Bytes(mask), coder = new Decoder(rest.take(rest.varint()));
  const size = blocks.reduce((total, block) => total + block.size, 0);
  const order = weightsByLevel(blocks, readLevels(coder, blocks));
  const positions = readPositions(new Bytes(rest.take(rest.left)), size);
  const integers = readIntegers(new Bytes(labels), positions.length);
  const signed = new Int32Array(size);
  positions.forEach((position, index) => (signed[order[position]] = integers[index]));
  return { signed, memory: 0 };
}

/** The weights of a segment, as their indexes, in the order in which they are coded. */
function weightsByLevel(blocks, levels) {
  const rectangles = [];
  let start = 0;
  blocks.forEach((block, number) => {
    const { base, offsets } = levels[number];
    const [rows, columns] = [runsOf(offsets[0]), runsOf(offsets[1])];
    for (const row of rows) {
      for (const column of columns) rectangles.push({ level: clip(base + row.offset + column.offset), block, start, row, column });
    }
    start += block.size;
  });
  const order = [];
  rectangles.sort((one, other) => one.level - other.level); // stable
  for (const { block, start: first, row, column } of rectangles) {
    const [, columns, positions] = block.sides;
    for (const r of row.members) {
      for (const c of column.members) {
        for (let place = 0; place < positions; place++) order.push(first + (r * columns + c) * positions + place);
      }
    }
  }
  return order;
}

/** Indexes of equal offset, the lowest offset first. */
function runsOf(offsets) {
  const distinct = [...new Set(offsets)].sort((one, other) => one - other);
  return distinct.map((offset) => ({ offset, members: [...offsets.keys()].filter((index) => offsets[index] === offset) }));
}

function readPositions(rest, entries) {
  const form = rest.byte();
  const all = Array.from({ length: entries }, (_, index) => index);
  if (form === 2) {
    const bits = unpackBits(inflateRaw(rest.take(rest.left), Math.ceil(entries / 8)), entries);
    return all.filter((index) => bits[index]);
  }
  const low = rest.byte(), count = rest.varint(), coded = rest.take(rest.varint());
  const symbols = inflateRaw(coded, count);
  const own = symbols.reduce((total, symbol) => total + (symbol < 255), 0);
  const lowest = low ? unpackDigits(inflateRaw(rest.take(rest.left), Math.ceil((own * low) / 8)), 1 << low, 8 / low) : null;
  const found = [];
  let position = -1, next = 0;
  for (const symbol of symbols) {
    position += symbol * 2 ** low;
    if (symbol === 255) continue;
    position += 1 + (lowest ? lowest[next++] : 0);
    found.push(position);
  }
  if (form === 0) return found;
  const zeros = new Set(found);
  return all.filter((index) => !zeros.has(index));
}

function readIntegers(rest, count) {
  const first = rest.varint(), values = rest.varint();
  const lowest = first % 2 ? -(first + 1) / 2 : first / 2;
  let perByte = 1;
  while (values > 1 && values <= 16 && values ** (perByte + 1) <= 256) perByte++;
  const ranks = new Int32Array(count);
  for (let shift = 0; (values - 1) >> shift > 0; shift += 8) {
    const plane = inflateRaw(rest.take(rest.varint()), Math.ceil(count / perByte));
    const digits = perByte > 1 ? unpackDigits(plane, values, perByte) : plane;
    ranks.forEach((_, index) => (ranks[index] |= digits[index] << shift));
  }
  return ranks.map((rank) => (lowest < 0 && rank + lowest >= 0 ? rank + lowest + 1 : rank + lowest));
}

/** Several digits from each byte, the first the most significant. */
function unpackDigits(bytes, base, perByte) {
  const digits = [];
  for (const byte of bytes) {
    for (let place = perByte - 1; place >= 0; place--) digits.push(Math.floor(byte / base ** place) % base);
  }
  return digits;
}
