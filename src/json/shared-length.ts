/** Bytes per comparison. */
const STEP = 64 * 1024;

/** The length of the common prefix of two buffers. */
export function sharedLength(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  let shared = 0;
  for (let step = Math.min(STEP, length); step > 0; ) {
    const end = Math.min(shared + step, length);
    if (a.compare(b, shared, end, shared, end) !== 0) step = step === 1 ? 0 : Math.ceil(step / 2);
    else if (end === length) return length;
    else shared = end;
  }
  return shared;
}
