/** Values handed over in order to whoever awaits the next one. */
export class AsyncQueue<T> {
  readonly #values: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  push(value: T): void {
    const waiter = this.#waiting.shift();
    if (waiter) waiter(value);
    else this.#values.push(value);
  }

  async next(): Promise<T> {
    if (this.#values.length > 0) return this.#values.shift() as T; // The length says that there is one.
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
