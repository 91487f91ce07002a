// Entropy coding under adaptive models, and what is built on it: byte planes.

import { Bytes } from "./archive.mjs";

const BITS = 2 ** 24; // probabilities are integers that add up to this

/** Counts of the symbols 0..size-1. */
export class Model {
  constructor(size, initial = 8, longBlocks = false) {
    this.size = size;
    this.longBlocks = longBlocks;
    this.counts = new Float64Array(size).fill(initial);
    this.sum = size * initial;
    this.seen = 0;
  }
  /** A new model with the shares of this one, as if they came from eight symbols. */
  successor() {
    const next = new Model(this.size, 8, this.longBlocks);
    next.counts = this.counts.map((count) => 1 + Math.floor((count * 256) / this.sum));
    next.sum = next.counts.reduce((total, count) => total + count, 0);
    return next;
  }
  /** How many symbols are coded before the counts change. */
  blockLength() {
    const [least, share] = this.longBlocks ? [64, 2] : [4, 8];
    return Math.max(least, Math.floor(this.seen / share));
  }
  /** Where the interval of each symbol begins, in 2^-24, and the end of the last. */
  intervals() {
    const scale = Math.fround((BITS - this.size) / this.sum);
    const starts = new Float64Array(this.size + 1);
    let before = 0;
    for (let symbol = 0; symbol < this.size; symbol++) {
      starts[symbol] = Math.trunc(Math.fround(before * scale)) + symbol;
      before += this.counts[symbol];
    }
    starts[this.size] = BITS;
    return starts;
  }
  update(symbols) {
    for (const symbol of symbols) this.counts[symbol] += 32;
    this.seen += symbols.length;
    this.sum += 32 * symbols.length;
    while (this.sum >= 2 ** 23) {
      this.counts = this.counts.map((count) => Math.floor((count + 1) / 2));
      this.sum = this.counts.reduce((total, count) => total + count, 0);
    }
  }
}

/** Decoder of an ANS stack of 32-bit words with a state of 64 bits, held in two numbers. */
export class Decoder {
  constructor(content) {
    const words = new DataView(content.buffer, content.byteOffset, content.byteLength);
    this.words = Array.from({ length: content.length / 4 }, (_, index) => words.getUint32(4 * index, true));
    this.high = this.words.length > 1 ? this.words.pop() : 0;
    this.low = this.words.length ? this.words.pop() : 0;
  }
  /** Leave the interval [start, end) that the lowest 24 bits of the state are in. */
  leave(start, end) {
    const width = end - start, rest = (this.low % BITS) - start;
    const upper = this.high * 256 + Math.floor(this.low / BITS); // state >> 24, of 40 bits
    const product = Math.floor(upper / 65536) * width; // of the upper 24 bits; the lower 16 follow
    const lower = (product % 65536) * 65536 + (upper % 65536) * width + rest;
    this.low = lower % 2 ** 32;
    this.high = Math.floor(product / 65536) + Math.floor(lower / 2 ** 32);
    if (this.high === 0 && this.words.length) {
      this.high = this.low;
      this.low = this.words.pop();
    }
  }
  /** The next `count` symbols of a model, which learns them. */
  code(model, count) {
    const found = new Int32Array(count);
    if (model.size === 1) return found;
    for (let start = 0; start < count; ) {
      const stop = Math.min(count, start + model.blockLength());
      const starts = model.intervals();
      for (let index = start; index < stop; index++) {
        const quantile = this.low % BITS;
        let [first, last] = [0, model.size - 1];
        while (first < last) {
          const middle = (first + last + 1) >> 1;
          if (starts[middle] <= quantile) first = middle;
          else last = middle - 1;
        }
        this.leave(starts[first], starts[first + 1]);
        found[index] = first;
      }
      model.update(found.subarray(start, stop));
      start = stop;
    }
    return found;
  }
  /** The next `count` integers of `bits` bits, in digits of eight bits, the lowest of all integers first. */
  raw(bits, count) {
    const found = new Int32Array(count);
    for (let shift = 0; shift < bits; shift += 8) {
      const width = BITS / 2 ** Math.min(8, bits - shift);
      for (let index = 0; index < count; index++) {
        const digit = Math.floor((this.low % BITS) / width);
        this.leave(digit * width, (digit + 1) * width);
        found[index] |= digit << shift;
      }
    }
    return found;
  }
}

/** The bytes of `count` numbers of `width` bytes each, which were stored as byte planes. */
export function unpackPlanes(content, count, width) {
  const numbers = new Uint8Array(count * width), rest = new Bytes(content);
  for (let place = 0; place < width; place++) {
    const form = rest.varint();
    const constant = form === 1 ? rest.byte() : 0;
    const plane =
      form === 0 ? rest.take(count) : form === 1 ? null : new Decoder(rest.take(form)).code(new Model(256, 2, true), count);
    for (let index = 0; index < count; index++) numbers[index * width + place] = plane ? plane[index] : constant;
  }
  return numbers;
}
