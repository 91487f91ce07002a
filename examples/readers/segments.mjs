// How a network is divided for coding: tensors into blocks of rows, and blocks into segments.

import { product } from "./numbers.mjs";

const SEGMENT_WEIGHTS = 2 ** 21;

/** All segments of a network whose compressible tensors have these shapes: lists of blocks. */
export function segmentsOf(shapes) {
  const segments = [];
  let room = 0;
  for (const block of blocksOf(shapes)) {
    if (block.size > room) {
      segments.push([]);
      room = SEGMENT_WEIGHTS;
    }
    segments.at(-1).push(block);
    room -= block.size;
  }
  return segments;
}

function blocksOf(shapes) {
  const blocks = [];
  let start = 0;
  shapes.forEach((shape, tensor) => {
    const [rows, columns, kernel] = sidesOf(shape);
    const positions = product(kernel), width = columns * positions;
    if (rows * width === 0) return;
    const step = Math.max(1, Math.floor(SEGMENT_WEIGHTS / width));
    for (let first = 0; first < rows; first += step) {
      const count = Math.min(step, rows - first);
      const neighbourhood = positions > 1 ? kernel : [16];
      blocks.push({
        start: start + first * width, sides: [count, columns, positions], size: count * width, tensor, neighbourhood,
        positions: product(neighbourhood),
      });
    }
    start += rows * width;
  });
  return blocks;
}

/** Rows, columns and kernel of a tensor. */
function sidesOf(shape) {
  if (shape.length < 2) return [1, product(shape), [1]];
  const kernel = shape.length > 2 ? shape.slice(2) : [1];
  return product(kernel) > 128 ? [shape[0], product(shape.slice(1)), [1]] : [shape[0], shape[1], kernel];
}

/** Whether slices of a block along an axis have a level offset each. */
export const hasOffsets = (block, axis) => block.sides[axis] > 1 && Math.floor(block.size / block.sides[axis]) >= 4;

/** influence[a][b]: how much position b of a neighbourhood counts for the later position a. */
export function influenceOf(neighbourhood) {
  const places = Array.from({ length: product(neighbourhood) }, (_, index) => {
    const place = [];
    for (const side of [...neighbourhood].reverse()) {
      place.unshift(index % side);
      index = Math.floor(index / side);
    }
    return place;
  });
  return places.map((one, a) =>
    places.slice(0, a).map((other) => {
      const distance = one.reduce((total, each, axis) => total + Math.abs(each - other[axis]), 0);
      return distance < 3 ? [0, 10, 6][distance] : 4;
    }),
  );
}

const CODES = { 2: [0o5, 0o2], 3: [0o13, 0o4], 4: [0o23, 0o4], 5: [0o45, 0o10], 6: [0o103, 0o24], 7: [0o235, 0o126] };

/** next[state][parity] of the trellis with so many bits of state. */
export function transitions(memory) {
  const [parityCheck, information] = CODES[memory];
  return Array.from({ length: 1 << memory }, (_, state) => {
    const next = (state >> 1) ^ ((parityCheck >> 1) * (state & 1));
    return [next, next ^ (information >> 1)];
  });
}

/** Weights of a lane of the trellis. */
export const laneLength = (positions) => Math.max(1, Math.floor(288 / positions)) * positions;
