/** Of an answer that is passed on so much of its end is kept, for the usage that stands there. */
export const TAIL_BYTES = 64 * 1024;

/** The end of an answer that goes by. */
export class TailBuffer {
  #parts: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    for (
      let [first] = this.#parts;
      first && this.#bytes - first.length >= TAIL_BYTES;
      [first] = this.#parts
    ) {
      this.#parts.shift();
      this.#bytes -= first.length;
    }
  }

  /** From the last `"usage"` on, as an object: it lacks nothing but its opening brace. Undefined without one. */
  fromUsage(): Buffer | undefined {
    const tail = Buffer.concat(this.#parts);
    const at = tail.lastIndexOf('"usage"');
    return at < 0 ? undefined : Buffer.concat([Buffer.from('{'), tail.subarray(at)]);
  }
}
