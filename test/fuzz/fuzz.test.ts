import { describe, expect, onTestFinished, test } from 'vitest';
import { OUTCOMES } from '../../src/store/ledger/record.ts';
import { fuzzClients } from './clients.ts';
import { diceOf } from './dice.ts';
import { fuzzProviders } from './providers.ts';
import { SECRETS, startRound } from './round.ts';

const SEED = Number(process.env.GW_SEED ?? 21);
/** Cases of each side. A client's case has one to four requests. */
const RUNS = Number(process.env.GW_FUZZ_CASES ?? (process.env.GW_LONG ? 500_000 : 100));
/** The first case, to repeat a round. */
const FROM = Number(process.env.GW_FUZZ_FROM ?? 0);
const A_ROUND = 600;
const LOGS = RUNS > 10 * A_ROUND;

describe.each([
  ['clients', fuzzClients, 60_000],
  ['providers', fuzzProviders, 300],
] as const)('%s that break every rule', (side, fuzz, timeoutMs) => {
  test(`${RUNS} cases: no crash, no open hold, no lost record, no cap passed, no secret told`, async () => {
    const found: string[] = [];
    const startedMs = performance.now();
    for (let from = FROM; from < FROM + RUNS; from += A_ROUND) {
      const undos: (() => Promise<void>)[] = [];
      const capUsd = diceOf(SEED, -from - 2).pick([0.05, 1_000_000, 1_000_000]);
      const round = await startRound({ capUsd, timeoutMs, whenDone: (undo) => void undos.push(undo) });
      const cases = Array.from({ length: Math.min(A_ROUND, FROM + RUNS - from) }, (_, i) => from + i);
      const problems = await fuzz(round, SEED, cases);
      for (const undo of undos.reverse()) await undo().catch((error) => problems.push(String(error)));
      found.push(...problems.map((problem) => `round from case ${from}: ${problem}`));
      if (LOGS) for (const problem of problems) console.log(`${side}, round from case ${from}: ${problem}`);
      const seconds = Math.round((performance.now() - startedMs) / 1000);
      if (LOGS && (found.length > 20 || (from - FROM) % (50 * A_ROUND) === 0))
        console.log(`${side}: ${from - FROM + cases.length} cases in ${seconds} s, ${found.length} problems`);
      if (found.length > 20) break;
    }
    expect(found.slice(0, 20), `GW_SEED=${SEED}`).toEqual([]);
  }, 7_200_000);
});

test.each([
  [
    'lost records',
    fuzzClients,
    'UPDATE ON',
    'DELETE FROM journal WHERE id = NEW.id',
    [/is not on record/, /reached the provider are not on record/],
  ],
  [
    'lost refusals',
    fuzzClients,
    'UPDATE ON',
    `DELETE FROM journal WHERE id = NEW.id AND outcome = ${OUTCOMES.blocked}`,
    [/is not on record/],
    0.000001,
  ],
  [
    'a wrong count and a cost below the bill, which the budget has otherwise',
    fuzzClients,
    'UPDATE OF outcome ON',
    'UPDATE journal SET output_tokens = 6, cost_nano_usd = cost_nano_usd - 1 WHERE id = NEW.id AND output_tokens = 5',
    [/was booked at 7\/6/, /were posted for records of/, /was billed, and/],
  ],
  [
    'missing usage that is booked at nothing, and a secret on record',
    fuzzProviders,
    'UPDATE OF outcome ON',
    `UPDATE journal SET output_tokens = 0, flags = 0, upstream_message_id = '${SECRETS.mock}' WHERE id = NEW.id`,
    [/but no usage was reported/, /a secret on record/],
  ],
])('the campaign notices %s', async (_what, fuzz, when, fault, expected, capUsd = 1_000_000) => {
  const round = await startRound({ capUsd, timeoutMs: 300, whenDone: onTestFinished });
  round.gateway.db.exec(`CREATE TRIGGER planted AFTER ${when} journal BEGIN ${fault}; END`);
  const problems = await fuzz(
    round,
    SEED,
    Array.from({ length: 40 }, (_, i) => i),
  );
  for (const problem of expected) expect(problems.join('\n')).toMatch(problem);
});
