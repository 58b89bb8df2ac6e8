import { expect, onTestFinished, test } from 'vitest';
import { diceOf } from '../fuzz/dice.ts';
import type { ReadMore } from './generous-provider.ts';
import { problemsOf } from './problems.ts';
import { runRound, startRound } from './round.ts';

const SEED = Number(process.env.GW_SEED ?? 41);
const RUNS = Number(process.env.GW_CAMPAIGN_CASES ?? (process.env.GW_LONG ? 500_000 : 300));
/** The first case, to repeat a round. */
const FROM = Number(process.env.GW_CAMPAIGN_FROM ?? 0);
const A_ROUND = Number(process.env.GW_CAMPAIGN_ROUND ?? 2_000);
const LOGS = RUNS > 300;

test(`${RUNS} requests to providers that read all that they can into them: no cap passed, no model beyond a key's, every dollar booked`, async () => {
  const found: string[] = [];
  const startedMs = performance.now();
  let served = 0;
  let billed = 0;
  for (let from = FROM; from < FROM + RUNS; from += A_ROUND) {
    const undos: (() => Promise<void>)[] = [];
    const round = await startRound({
      dice: diceOf(SEED, -from - 2),
      whenDone: (undo) => void undos.push(undo),
    });
    await runRound(
      round,
      SEED,
      Array.from({ length: Math.min(A_ROUND, FROM + RUNS - from) }, (_, i) => from + i),
    );
    const problems = problemsOf(round);
    for (const { status } of round.outcomes.values()) if (status === 200) served++;
    billed += [...round.provider.ledger.values()].filter(({ nanoUsd }) => nanoUsd > 0).length;
    for (const undo of undos.reverse()) await undo().catch((error) => problems.push(String(error)));
    found.push(...problems.map((problem) => `round from case ${from}: ${problem}`));
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    if (LOGS)
      console.log(
        `${from - FROM + round.outcomes.size} requests in ${seconds} s: ${served} served, ${billed} billed, ${found.length} problems`,
      );
    if (LOGS) for (const problem of problems) console.log(problem);
    if (found.length > 40) break;
  }
  expect(found.slice(0, 40), `GW_SEED=${SEED}`).toEqual([]);
  // Most are refused, but a campaign in which nothing is served shows nothing.
  expect(served).toBeGreaterThan(RUNS / 20);
  expect(billed).toBeGreaterThan(RUNS / 50);
}, 36_000_000);

/** Dice of a round with several projects, in which no setting lets anything by. */
const GUARDED = { ...diceOf(SEED, 0), chance: () => false };

test.each<[string, RegExp[], { readMore?: ReadMore; fault?: string }]>([
  [
    'a tier that gw does not hold',
    [/billed, \d+ held/, /was billed \$[\d.]+ of a cap/],
    {
      readMore: (reading) => {
        reading.tierFactor *= 20;
      },
    },
  ],
  [
    'a model that is read in a text',
    [/served with dear, which the key may not use/, /billed, \d+ held/],
    {
      readMore: (reading, { body }) => {
        if (body.includes('"hi"')) reading.models.push('dear');
      },
    },
  ],
  [
    'a cost that is not booked',
    [/billed, 0 booked/, /posted, 0 pending for records of/],
    { fault: 'UPDATE journal SET cost_nano_usd = 0, flags = 0 WHERE id = NEW.id' },
  ],
])('the campaign notices %s', async (_, expected, { readMore, fault }) => {
  const round = await startRound({
    dice: GUARDED,
    whenDone: onTestFinished,
    ...(readMore ? { readMore } : {}),
  });
  if (fault)
    round.gateway.db.exec(`CREATE TRIGGER planted AFTER UPDATE OF outcome ON journal BEGIN ${fault}; END`);
  await runRound(
    round,
    SEED,
    Array.from({ length: 500 }, (_, i) => i),
  );
  const problems = problemsOf(round).join('\n');
  for (const problem of expected) expect(problems).toMatch(problem);
});
