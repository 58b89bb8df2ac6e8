import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A path to a port of this machine whose connections can die without a word. */
export interface DroppingPath {
  /** `http://127.0.0.1:PORT/v1`. */
  url: string;
  /** Connections so far. */
  readonly accepted: number;
  /** Connections that are open and not dropped. */
  readonly open: number;
  /** From now on, nothing that is sent on the open connections arrives, and neither side hears of it. */
  drop(): void;
}

export async function startDroppingPath(
  leadsTo: number,
  whenDone: (undo: () => void) => void = onTestFinished,
): Promise<DroppingPath> {
  const alive = new Set<readonly [Socket, Socket]>();
  const all = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ noDelay: true }, (near) => {
    accepted++;
    const far = connect({ port: leadsTo, host: '127.0.0.1', noDelay: true });
    const pair = [near, far] as const;
    alive.add(pair);
    near.pipe(far).pipe(near);
    for (const [one, other] of [pair, [far, near] as const]) {
      all.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        all.delete(one);
        if (alive.delete(pair)) other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenDone(() => {
    server.close();
    for (const socket of all) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get accepted() {
      return accepted;
    },
    get open() {
      return alive.size;
    },
    drop() {
      for (const pair of alive) {
        alive.delete(pair);
        for (const socket of pair) socket.unpipe().pause();
      }
    },
  };
}
