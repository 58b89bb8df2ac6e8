import { formatRequestId } from '../../src/ids.ts';
import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import type { TestGateway } from '../support/gateway.ts';
import { until } from '../support/gateway.ts';
import { requestsIn } from '../support/home.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { type Answer, answersIn, type Received } from './converse.ts';
import type { Reported } from './plans.ts';

export const SECRETS = {
  mock: 'upstream-secret-7Jq2mXw9Lk4vB1',
  anthropic: 'sk-ant-upstream-3Hn8sPd6Rt5yC0',
};
const NANO_PER_USD = 1_000_000_000;

/** One daemon, what was done to it, and what its clients saw. */
export interface Round {
  gateway: TestGateway;
  capUsd: number;
  /** What clients got, by the case that they sent. */
  received: Map<number, Received>;
  /** Errors that nothing in the process handled. */
  unhandled: unknown[];
}

export interface RoundOptions {
  capUsd: number;
  /** A provider that stops short is given up on after so long. */
  timeoutMs?: number;
  /** Receives what has to be undone when the round is over. */
  whenDone: (undo: () => Promise<void>) => void;
}

export async function startRound({ capUsd, timeoutMs = 60_000, whenDone }: RoundOptions): Promise<Round> {
  const gateway = await startBothWires({
    credentials: SECRETS,
    budget: { period: 'daily', capUsd },
    settings: {
      'limits.max_body_bytes': 1024 * 1024,
      'limits.client_idle_ms': 5_000,
      'upstream.first_byte_timeout_ms': timeoutMs,
      'upstream.idle_timeout_ms': timeoutMs,
      'routing.first_byte_timeout_ms': timeoutMs,
      'admission.max_wait_ms': 20,
      attribution: 'off',
    },
    // What it logs is judged with the rest.
    mayLog: /./,
    whenDone,
  });
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
  whenDone(async () => {
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
  });
  return { gateway, capUsd, received: new Map(), unhandled };
}

/** Runs the cases, so many at a time. */
export async function atOnce(
  cases: number[],
  width: number,
  run: (each: number) => Promise<void>,
): Promise<void> {
  const left = [...cases];
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Answers of a round by their case, and the records that belong to them. */
export interface Outcome {
  answers: Map<number, Answer[]>;
  records: LoggedRequest[];
  byId: Map<string, LoggedRequest>;
}

export async function outcomeOf(round: Round, problems: string[], mayBeHead: boolean): Promise<Outcome> {
  const { gateway } = round;
  await until(async () => {
    await gateway.committed();
    return gateway.holds() === 0;
  }, 15_000).catch(() => problems.push(`${gateway.holds()} holds are open`));
  const records = await gateway.records();
  const answers = new Map<number, Answer[]>();
  for (const [number, { bytes, end }] of round.received) {
    if (end === 'stuck') problems.push(`case ${number}: no end within the bound`);
    try {
      answers.set(number, answersIn(bytes, mayBeHead));
    } catch (error) {
      problems.push(`case ${number}: ${String(error)}`);
    }
  }
  const byId = new Map(records.map((record) => [formatRequestId(record.id), record]));
  return { answers, records, byId };
}

/** What holds for every round, whatever was sent and answered. */
export function generalProblems(round: Round, { answers, records, byId }: Outcome): string[] {
  const problems: string[] = [];
  /** Refusals without a record of their own: many of a key share one. */
  const refused: string[] = [];
  const shared = requestsIn(records) - records.length;
  for (const error of round.unhandled)
    problems.push(`unhandled: ${error instanceof Error ? error.stack : String(error)}`);
  for (const [number, given] of answers) {
    for (const { status, headers, body } of given) {
      const id = headers.get('x-service-request-id');
      if (status >= 500 && body.includes('internal_error')) problems.push(`case ${number}: ${body}`);
      if (id === undefined) problems.push(`case ${number}: an answer (${status}) without an id`);
      const isServed = headers.has('x-service-provider') || headers.has('x-service-cost-usd');
      // Neither the campaign's keys nor its provider limit the rate.
      const isRefusedForMoney = status === 402 || status === 429;
      if (byId.has(id ?? '')) continue;
      if (isServed) problems.push(`case ${number}: ${id} is not on record`);
      else if (isRefusedForMoney) refused.push(`case ${number}: ${id} is not on record`);
    }
  }
  if (refused.length > shared) problems.push(...refused.slice(shared));
  if (byId.size !== records.length) problems.push('two records have the same id');
  return [...problems, ...moneyProblems(round, records), ...leaks(round, records)];
}

/** What the providers bill, in dollars per million tokens. */
const PRICES: Record<string, { input: number; output: number }> = {
  'mock/test-model': { input: 1, output: 2 },
  [`anthropic/${CLAUDE}`]: { input: 3, output: 15 },
};

/** Whether a record has at least what the provider bills for that usage, where the campaign knows its price. */
export function isPaid({ provider, model, endpoint, costNanoUsd }: LoggedRequest, usage: Reported): boolean {
  const price = PRICES[`${provider}/${model}`];
  if (!price) return true;
  const output = endpoint.includes('embeddings') ? 0 : usage.output;
  return costNanoUsd >= (usage.input * price.input + output * price.output) * 1_000;
}

function moneyProblems({ gateway, capUsd }: Round, records: LoggedRequest[]): string[] {
  const problems: string[] = [];
  const { posted, pending } = gateway.db
    .prepare<[], { posted: number; pending: number }>(
      'SELECT total(posted_nano_usd) AS posted, total(pending_nano_usd) AS pending FROM budget_periods',
    )
    .get() ?? { posted: -1, pending: -1 };
  if (pending !== 0) problems.push(`${pending} are still pending`);
  const sum = records.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0);
  if (sum !== posted) problems.push(`${posted} were posted for records of ${sum}`);
  // Only what a provider reported beyond a hold may exceed the cap, and it is flagged.
  const within = records.reduce(
    (total, { costNanoUsd, holdNanoUsd }) => total + Math.min(costNanoUsd, holdNanoUsd),
    0,
  );
  if (within > capUsd * NANO_PER_USD) problems.push(`the cap of ${capUsd} was passed: ${within}`);
  for (const { id, costNanoUsd, holdNanoUsd, inputTokens, outputTokens, flags } of records) {
    const name = formatRequestId(id);
    if (costNanoUsd > holdNanoUsd && !flags.includes('overrun') && !flags.includes('underheld'))
      problems.push(`${name} cost ${costNanoUsd}, held ${holdNanoUsd}, and is not flagged`);
    for (const count of [costNanoUsd, holdNanoUsd, inputTokens, outputTokens])
      if (!Number.isSafeInteger(count) || count < 0) problems.push(`${name} has a count of ${count}`);
  }
  return problems;
}

/** Faults of gw's own in the log, and secrets in the log or in a record. */
function leaks({ gateway }: Round, records: LoggedRequest[]): string[] {
  const problems: string[] = [];
  const secrets = [...Object.values(SECRETS), gateway.key, gateway.adminKey];
  for (const line of gateway.logged) {
    const text = JSON.stringify(line);
    if (Number(line.level) >= 50) problems.push(`logged: ${text}`);
    if (/could not be read, so gw booked|is not a function|Cannot read prop|is not iterable/.test(text))
      problems.push(`logged: ${text}`);
    if (secrets.some((secret) => text.includes(secret))) problems.push(`a secret in the log: ${text}`);
  }
  for (const record of records) {
    const text = JSON.stringify(record, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    if (secrets.some((secret) => text.includes(secret))) problems.push(`a secret on record: ${text}`);
  }
  return problems;
}
