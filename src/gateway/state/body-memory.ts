import type { Clock } from '../../clock.ts';

/**
 * What a body takes in all, as a multiple of its bytes: as it came, decoded, as text for the checks, and as it is sent.
 * Measured with bodies of 31 MB: the process grows by 5.2 times their bytes.
 */
const COPIES = 5;

/** Limits the bytes of request bodies in memory, over all running requests. */
export type BodyMemory = ReturnType<typeof createBodyMemory>;

/** Memory reserved for one body. It grows while the body is read, and is released when its request ends. */
export interface BodyShare {
  /** Takes `bytes` more if there is room for them and nobody waits. */
  take(bytes: number): boolean;
  /** Takes them in its turn. Resolves with false if there was no room in time, or the share was released. */
  takeInTurn(bytes: number, maxWaitMs: number): Promise<boolean>;
  /** Gives all bytes back. */
  release(): void;
}

interface Waiter {
  share: { held: number };
  bytes: number;
  end: (taken: boolean) => void;
}

/**
 * Bodies that find no room wait, first come, first served. The first of them may pass the limit, so that bodies that are
 * all half read don't wait for one another: what is taken is at most the limit and one body. `maxMemoryBytes` is a
 * function because the setting can change while gw runs.
 */
export function createBodyMemory(maxMemoryBytes: () => number, clock: Pick<Clock, 'after'>) {
  let used = 0;
  /** The share that may pass the limit. */
  let beyond: Waiter['share'] | undefined;
  let waiters: Waiter[] = [];

  function hasRoom(share: Waiter['share'], bytes: number): boolean {
    if (share === beyond || (used + bytes) * COPIES <= maxMemoryBytes()) return true;
    if (beyond !== undefined) return false;
    beyond = share;
    return true;
  }

  function add(share: Waiter['share'], bytes: number): void {
    share.held += bytes;
    used += bytes;
  }

  function wake(): void {
    for (let [first] = waiters; first && hasRoom(first.share, first.bytes); [first] = waiters) {
      add(first.share, first.bytes);
      first.end(true);
    }
  }

  function release(share: Waiter['share']): void {
    for (const waiter of waiters) if (waiter.share === share) waiter.end(false);
    used -= share.held;
    share.held = 0;
    if (beyond === share) beyond = undefined;
    wake();
  }

  function wait(share: Waiter['share'], bytes: number, maxWaitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        share,
        bytes,
        end(taken) {
          cancel();
          waiters = waiters.filter((other) => other !== waiter);
          resolve(taken);
        },
      };
      const cancel = clock.after(maxWaitMs, () => waiter.end(false));
      waiters.push(waiter);
    });
  }

  class Share implements BodyShare {
    held = 0;

    take(bytes: number): boolean {
      if ((waiters.length > 0 && this !== beyond) || !hasRoom(this, bytes)) return false;
      add(this, bytes);
      return true;
    }

    async takeInTurn(bytes: number, maxWaitMs: number): Promise<boolean> {
      return this.take(bytes) || wait(this, bytes, maxWaitMs);
    }

    release(): void {
      release(this);
    }
  }

  return {
    /** Counts a body that stays after its share was released, whatever room there is. Call what it returns at its end. */
    keep(bytes: number): () => void {
      const share = { held: 0 };
      add(share, bytes);
      if (used * COPIES > maxMemoryBytes()) beyond = share;
      return () => release(share);
    },
    /** The share of a body that is about to be read. */
    open: (): BodyShare => new Share(),
  };
}
