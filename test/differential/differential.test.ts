import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { differences } from './compare.ts';
import { forwardAll, type Passed } from './forward-all.ts';
import { readGenerously } from './generous.ts';
import { replay } from './replay.ts';
import { type Server, startServers } from './servers.ts';

const SEED = Number(process.env.GW_SEED ?? 41);
const LONG = Boolean(process.env.GW_LONG);
const COUNT = Number(process.env.GW_DIFFERENTIAL_CASES ?? (LONG ? 200_000 : 600));
/** The first request, to repeat a round. */
const FROM = Number(process.env.GW_DIFFERENTIAL_FROM ?? 0);
const A_ROUND = 2_000;

describe('a request means to a server what it means to gw', () => {
  const undos: (() => Promise<void>)[] = [];
  let servers: Server[] = [];
  beforeAll(async () => {
    if (LONG) servers = await startServers((undo) => void undos.push(undo));
  }, 1_200_000);
  afterAll(async () => {
    for (const undo of undos.reverse()) await undo();
  });

  test(`${COUNT} requests`, async () => {
    const found: string[] = [];
    const tally = new Map<string, number>();
    const count = (what: string, by = 1) => void tally.set(what, (tally.get(what) ?? 0) + by);
    for (let from = FROM; from < FROM + COUNT && found.length < 30; from += A_ROUND) {
      const ends: (() => Promise<void>)[] = [];
      const size = Math.min(A_ROUND, FROM + COUNT - from);
      const alone = (from / A_ROUND) % 2 === 0;
      const round = {
        seed: SEED,
        from,
        count: size,
        alone,
        whenDone: (end: () => Promise<void>) => void ends.push(end),
      };
      const { passed, statuses } = await forwardAll(round);
      for (const [status, times] of statuses) {
        count(`gw ${status}`, times);
        if (status >= 500) found.push(`gw answers ${times} requests from ${from} on with ${status}`);
      }
      const differing = await compared(servers, passed, count);
      found.push(...differing);
      if (LONG) for (const each of differing) console.log(each);
      for (const end of ends.reverse()) await end();
      if (LONG)
        console.log(
          from + size,
          JSON.stringify(Object.fromEntries([...tally].sort())),
          `${found.length} found`,
        );
    }
    expect(found.slice(0, 30), `GW_SEED=${SEED}`).toEqual([]);
    expect(tally.get('forwarded')).toBeGreaterThan(COUNT / 10);
  }, 7_200_000);
});

/** What servers read otherwise than gw, with the number of the request. */
async function compared(
  servers: readonly Server[],
  passed: readonly Passed[],
  count: (what: string) => void,
): Promise<string[]> {
  const found: string[] = [];
  const known = passed.flatMap(({ forwarded, own, sent }) => {
    count('forwarded');
    if (own) return [{ forwarded, own, sent }];
    found.push(`${forwarded.name}: gw has no record of it`);
    return [];
  });
  const note = (at: number, name: string, told: readonly string[]) => {
    const { forwarded, sent } = known[at] as (typeof known)[number];
    if (told.length > 0)
      found.push(
        `${name}, ${forwarded.name}: ${told.join('; ')}\n${forwarded.bytes.toString('latin1')}\n(sent as ${sent.bytes.toString('latin1')})`,
      );
  };
  for (const [at, { forwarded, own }] of known.entries())
    note(
      at,
      'generous',
      readGenerously(forwarded).flatMap((reading) => differences(forwarded, own, reading)),
    );
  const all = known.map(({ forwarded }) => forwarded);
  for (const server of servers)
    await replay(server, all, (at, reading) => {
      count(`${server.name} ${reading ? 'read' : 'refused'}`);
      const { forwarded, own } = known[at] as (typeof known)[number];
      if (reading) note(at, server.name, differences(forwarded, own, reading));
    });
  return found;
}
