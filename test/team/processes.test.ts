import { expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { request } from '../support/client.ts';
import { PLAIN, until } from '../support/gateway.ts';
import { postgresMissing } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { startUpstream } from '../support/upstream.ts';
import {
  bookedBy,
  type MemberProcess,
  periodsAt,
  startMember,
  startTeamServer,
} from './support/processes.ts';

const SEED = process.env.GW_SEED ?? String(Date.now());
const SECONDS = process.env.GW_LONG ? 60 : 2;
const GATEWAYS = 3;
const CLIENTS = 3;
const CAP_USD = process.env.GW_LONG ? 2 : 0.4;
/** A request holds $0.002 and costs half of it. */
const PRICE = { input: 0, output: 10 };
const BODY = { ...PLAIN, max_tokens: 200 };
const COST_NANO_USD = 1_000_000;

const missing = postgresMissing({ ownServer: true });

test.skipIf(missing)(
  `three daemons and a server that are killed at random spend one cap, and their books agree (GW_SEED=${SEED})`,
  { timeout: SECONDS * 1_000 + 180_000 },
  async () => {
    const random = seededRandom(SEED);
    const chance = () => random(4).readUInt32LE() / 2 ** 32;
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const { postgres, url: teamUrl } = await startTeamServer(CAP_USD);

    let billed = 0;
    const answer = completion({ usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } });
    const upstream = await startUpstream({
      script: async (exchange) => {
        billed += COST_NANO_USD;
        await answer(exchange);
      },
    });
    const settings = { 'admission.max_wait_ms': 2_000 };
    const members = await Promise.all(
      Array.from({ length: GATEWAYS }, (_, i) =>
        startMember({ upstreamUrl: upstream.url, price: PRICE, settings, teamUrl, name: `gateway-${i}` }),
      ),
    );

    let isOver = false;
    const statuses = new Map<number, number>();
    const codes = new Map<string, number>();
    const clients = members.flatMap((member) =>
      Array.from({ length: CLIENTS }, async () => {
        while (!isOver) {
          const headers = { authorization: `Bearer ${member.home.key}` };
          const reply = await request(`${member.daemon.url}/chat/completions`, { body: BODY, headers }).catch(
            () => undefined,
          );
          if (reply?.complete) statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
          if (reply?.complete && reply.status !== 200) {
            const code = String(JSON.parse(String(reply.body)).error?.code);
            codes.set(code, (codes.get(code) ?? 0) + 1);
          }
          await pause(20);
        }
      }),
    );
    let kills = 0;
    for (const deadline = performance.now() + SECONDS * 1_000; performance.now() < deadline; ) {
      await pause(50 + chance() * 400);
      const member = members[Math.floor(chance() * GATEWAYS)] as MemberProcess;
      if (kills++ % 4 === 3) {
        await postgres.kill();
        await pause(chance() * 200);
        await postgres.start();
      } else await member.restart();
    }
    // With all alive, the rest of the cap can be spent.
    await until(async () => (codes.get('budget_exceeded') ?? 0) > 0, 60_000).catch(() => {});
    isOver = true;
    await Promise.all(clients);
    for (const member of members) await member.stop();

    const sum = members.reduce((total, member) => total + bookedBy(member).posted, 0);
    expect(billed).toBeLessThanOrEqual(CAP_USD * 1e9);
    expect(billed).toBeLessThanOrEqual(sum);
    expect(sum).toBeLessThanOrEqual(CAP_USD * 1e9);
    expect(await periodsAt(teamUrl)).toEqual([{ allocated: sum, spent: sum }]);
    expect(statuses.get(200) ?? 0).toBeGreaterThan(20);
    await upstream.close();
  },
);
test.runIf(missing)(`skipped: ${missing}`, () => {});
