/** Bytes kept from the end of an answer that is passed on: the usage is there. */
export const TAIL_BYTES = 64 * 1024;

/** Keeps the last bytes of an answer that is passed on. */
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

  /** The answer from the last `"usage"` on, as an object with a brace added in front; undefined if there is none. */
  fromUsage(): Buffer | undefined {
    const tail = Buffer.concat(this.#parts);
    const at = tail.lastIndexOf('"usage"');
    return at < 0 ? undefined : Buffer.concat([Buffer.from('{'), tail.subarray(at)]);
  }
}
