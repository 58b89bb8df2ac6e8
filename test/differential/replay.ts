import { openConnection, type RawConnection } from '../support/client.ts';
import type { Forwarded, Reading } from './reading.ts';
import type { Server } from './servers.ts';

const WIDTH = 6;

/** Sends a server the very bytes that gw sent, and passes on what it read in each. Refusals are undefined. */
export async function replay(
  server: Server,
  all: readonly Forwarded[],
  onReading: (at: number, reading: Reading | undefined) => void,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    let connection: RawConnection | undefined;
    while (next < all.length) {
      const at = next++;
      connection ??= await openConnection(server.url);
      await connection.send(all[at]?.bytes ?? '');
      const answer = await connection.response();
      onReading(at, server.readingIn(answer));
      // A server that refuses a request may close its connection a moment later.
      if (answer.header('connection')?.toLowerCase() === 'close' || answer.status !== 200) {
        connection.hangUp();
        connection = undefined;
      }
    }
    connection?.hangUp();
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
}
