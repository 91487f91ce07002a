// Element types: their widths, and float32 numbers from and to the types that JavaScript lacks.

export const WIDTHS = {
  float64: 8, float32: 4, float16: 2, bfloat16: 2, complex64: 8, complex128: 16, int64: 8, uint64: 8, int32: 4, uint32: 4,
  int16: 2, uint16: 2, int8: 1, uint8: 1, bool: 1, float8_e4m3fn: 1, float8_e5m2: 1,
};

/** Bits of exponent and mantissa, and the largest number. */
const FLOATS = {
  float64: [11, 52, Number.MAX_VALUE], float32: [8, 23, (2 - 2 ** -23) * 2 ** 127], float16: [5, 10, 65504],
  bfloat16: [8, 7, (2 - 2 ** -7) * 2 ** 127], float8_e5m2: [5, 2, 57344], float8_e4m3fn: [4, 3, 448],
};

export const isFloat = (dtype) => dtype in FLOATS;

/** A number rounded to a floating-point type: to nearest, ties to even. float8_e4m3fn has no infinity, but its largest. */
export function roundTo(value, dtype) {
  if (dtype === "float64" || dtype === "float32") return dtype === "float64" ? value : Math.fround(value);
  const [exponentBits, mantissaBits, largest] = FLOATS[dtype];
  if (dtype !== "float16") value = Math.fround(value); // what is no type of NumPy is rounded from float32
  if (value === 0 || !Number.isFinite(value)) return value;
  let exponent = Math.floor(Math.log2(Math.abs(value)));
  if (2 ** exponent > Math.abs(value)) exponent--;
  const unit = 2 ** (Math.max(exponent, 2 - 2 ** (exponentBits - 1)) - mantissaBits);
  const below = Math.floor(value / unit), rest = value / unit - below;
  const rounded = (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below) * unit;
  if (Math.abs(rounded) > largest) return Math.sign(value) * (dtype === "float8_e4m3fn" ? largest : Infinity);
  return rounded === 0 ? 0 * value : rounded;
}

/** Numbers of a floating-point type from their bytes, as float32 (float64 for float64). */
export function widen(bytes, dtype) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = WIDTHS[dtype], count = bytes.length / width;
  if (width === 8) return Float64Array.from({ length: count }, (_, index) => view.getFloat64(8 * index, true));
  if (width === 4) return Float32Array.from({ length: count }, (_, index) => view.getFloat32(4 * index, true));
  const [exponentBits, mantissaBits] = FLOATS[dtype];
  return Float32Array.from({ length: count }, (_, index) => {
    const bits = width === 2 ? view.getUint16(2 * index, true) : bytes[index];
    const sign = bits >> (8 * width - 1) ? -1 : 1, mantissa = bits & (2 ** mantissaBits - 1);
    const exponent = (bits >> mantissaBits) & (2 ** exponentBits - 1), bias = 2 ** (exponentBits - 1) - 1;
    if (exponent === 2 ** exponentBits - 1) {
      if (dtype !== "float8_e4m3fn") return mantissa ? NaN : sign * Infinity;
      if (mantissa === 7) return NaN;
    }
    const value = exponent ? 2 ** mantissaBits + mantissa : mantissa;
    return sign * value * 2 ** (Math.max(exponent, 1) - bias - mantissaBits);
  });
}

export const product = (numbers) => numbers.reduce((total, number) => total * number, 1);

/** The first `count` bits of some bytes, the most significant first. */
export const unpackBits = (bytes, count) =>
  Uint8Array.from({ length: count }, (_, index) => (bytes[index >> 3] >> (7 - (index & 7))) & 1);
