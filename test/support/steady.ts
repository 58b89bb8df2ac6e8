import { setTimeout } from 'node:timers/promises';

/** What `read` gives once it has given the same for 100 ms: the only way to see that something stands still. */
export async function steady(read: () => number): Promise<number> {
  for (;;) {
    const before = read();
    await setTimeout(100);
    if (read() === before) return before;
  }
}
