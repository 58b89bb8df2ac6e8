import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createAttribution } from '../../src/attribution/attribution.ts';
import type { Connection } from '../../src/attribution/connection.ts';
import type { Origin } from '../../src/origin.ts';
import { deferred } from '../support/deferred.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

function socketFrom(remotePort: number, remoteAddress = '127.0.0.1'): Socket {
  return { localAddress: '127.0.0.1', localPort: 4747, remoteAddress, remotePort } as Socket;
}

function setUp({ enabled = true } = {}) {
  const clock = createVirtualClock();
  const searches: { ports: number[]; end: (found: (Origin | undefined)[]) => void; fail: () => void }[] = [];
  const attribution = createAttribution({
    enabled: () => enabled,
    clock,
    find(connections: Connection[]) {
      const { promise, resolve, reject } = deferred<(Origin | undefined)[]>();
      const ports = connections.map(({ remotePort }) => remotePort);
      searches.push({ ports, end: resolve, fail: () => reject(new Error('no')) });
      return promise;
    },
  });
  return { clock, attribution, searches };
}

const SHOP = { process: 'node agent.mjs', repo: '/srv/shop' };
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('attribution', () => {
  test('is filled in once it is known, once a connection', async () => {
    const { clock, attribution, searches } = setUp();
    const socket = socketFrom(1);
    const origin = attribution.originOf(socket);
    expect(origin).toMatchObject({ process: '', repo: '' });
    await clock.advance(100);
    searches[0]?.end([SHOP]);
    await turn();
    expect(origin).toEqual({ ...SHOP, search: undefined });
    expect(attribution.originOf(socket)).toBe(origin);
    expect(searches).toHaveLength(1);
  });

  test('searches for all that come in a burst, and after a pause for all that came meanwhile', async () => {
    const { clock, attribution, searches } = setUp();
    attribution.originOf(socketFrom(1));
    attribution.originOf(socketFrom(2));
    await clock.advance(100);
    attribution.originOf(socketFrom(3));
    attribution.originOf(socketFrom(4));
    await clock.advance(10);
    searches[0]?.end([SHOP]);
    await turn();
    expect(searches).toHaveLength(1);
    await clock.advance(90);
    expect(searches.map(({ ports }) => ports)).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test('makes no pause for a request that waits', async () => {
    const { clock, attribution, searches } = setUp();
    attribution.originOf(socketFrom(1));
    await clock.advance(110);
    searches[0]?.end([undefined]);
    await turn();
    const origin = attribution.originOf(socketFrom(2));
    const searched = attribution.searched(origin, 2_000);
    expect(searches[1]?.ports).toEqual([2]);
    searches[1]?.end([SHOP]);
    await searched;
    expect(origin.repo).toBe('/srv/shop');
  });

  test('keeps nobody waiting longer than the time limit, and fills in what comes later', async () => {
    const { clock, attribution, searches } = setUp();
    const origin = attribution.originOf(socketFrom(1));
    const searched = attribution.searched(origin, 2_000);
    await clock.advance(2_000);
    await searched;
    expect(origin.repo).toBe('');
    searches[0]?.end([SHOP]);
    await turn();
    expect(origin.repo).toBe('/srv/shop');
  });

  test('stays unknown where the search fails, where the caller is elsewhere, and when it is off', async () => {
    const { attribution, searches } = setUp();
    const origin = attribution.originOf(socketFrom(1));
    const searched = attribution.searched(origin, 1_000);
    searches[0]?.fail();
    await searched;
    expect(origin).toEqual({ process: '', repo: '', search: undefined });
    expect(attribution.originOf(socketFrom(2, '192.0.2.7')).search).toBeUndefined();
    expect(searches).toHaveLength(1);
    const off = setUp({ enabled: false });
    expect(off.attribution.originOf(socketFrom(1)).search).toBeUndefined();
    expect(off.searches).toEqual([]);
  });
});
