import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { sse } from '../support/sse-scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';

const LONG = Boolean(process.env.GW_LONG);
/** A request that costs $0.10, no less and no more: one output token of $0.10. */
const TEN_CENTS = { ...PLAIN, max_tokens: 1 };
const PRICE = { input: 0, output: 100_000 };
const USAGE = usageOf(5, 1);
const DIME = 100_000_000;

/** Answers plain and streaming requests, at $0.10 each. */
async function dimeUpstream() {
  const upstream = await startUpstream();
  upstream.script(async (exchange) => {
    const stream = (JSON.parse((await exchange.body).toString()) as { stream?: boolean }).stream === true;
    await (stream ? sse(['x'], { usage: USAGE }) : completion({ usage: USAGE }))(exchange);
  });
  return upstream;
}

function spent({ db }: TestGateway, period: string): unknown {
  return db
    .prepare(
      `SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods p
       JOIN budgets b ON b.id = p.budget_id WHERE b.period = ?`,
    )
    .get(period);
}

describe('a cap under everything at once', () => {
  test(
    `${LONG ? 20 : 2} rounds on four daemons that share a database, two budgets, plain and streaming`,
    async () => {
      for (let round = 0; round < (LONG ? 20 : 2); round++) {
        const database = join(tmpHome(), 'shared.db');
        const upstream = await dimeUpstream();
        const first = await startGateway({ database, upstream, price: PRICE });
        await first.setBudget({ period: 'daily', capUsd: 5 });
        await first.setBudget({ period: 'monthly', capUsd: 6 });
        const others = await Promise.all(
          [1, 2, 3].map(() => startGateway({ database, upstream, price: PRICE })),
        );
        const gateways = [first, ...others];
        const count = LONG ? 1_000 : 160;
        const answers = await Promise.all(
          Array.from({ length: count }, (_, i) =>
            gateways[i % gateways.length]?.post(i % 3 === 0 ? { ...TEN_CENTS, stream: true } : TEN_CENTS),
          ),
        );
        const by = (code: number) => answers.filter((answer) => answer?.status === code).length;
        expect([by(200), by(402)]).toEqual([50, count - 50]);
        expect(upstream.requests).toHaveLength(50);
        await first.settled(count);
        expect(spent(first, 'daily')).toEqual({ posted: 50 * DIME, pending: 0 });
        expect(spent(first, 'monthly')).toEqual({ posted: 50 * DIME, pending: 0 });
        const exceeded = first.db
          .prepare("SELECT count(*) FROM events WHERE type = 'budget.exceeded'")
          .pluck();
        expect(exceeded.get()).toBe(1);
        for (const gateway of gateways) await gateway.stop();
      }
    },
    LONG ? 600_000 : 60_000,
  );

  const projects = LONG ? 250 : 25;
  test(`${projects} projects at once, each with its own cap`, async () => {
    const gateway = await startGateway({ upstream: await dimeUpstream(), price: PRICE });
    const keys: string[] = [];
    for (let i = 0; i < projects; i++) {
      const project = await gateway.newProject(`p${i}`);
      await gateway.setBudget({ period: 'daily', capUsd: 0.3 }, project);
      keys.push(await gateway.newKey(project.name));
    }
    const answers = await Promise.all(
      Array.from({ length: projects * 5 }, (_, i) =>
        gateway.post(i % 2 ? TEN_CENTS : { ...TEN_CENTS, stream: true }, {
          headers: { authorization: `Bearer ${keys[i % projects]}` },
        }),
      ),
    );
    for (let p = 0; p < projects; p++) {
      const statuses = answers.filter((_, i) => i % projects === p).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 200, 200, 402, 402]);
    }
    expect(spent(gateway, 'daily')).toEqual({ posted: projects * 3 * DIME, pending: 0 });
  }, 120_000);
});
