import { expect, test } from 'vitest';
import { formatRequestId } from '../../src/ids.ts';
import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import { seededRandom } from '../routing/seeded-random.ts';
import { completion } from '../support/chat-scripts.ts';
import type { RawResponse } from '../support/client.ts';
import { requestsIn } from '../support/home.ts';
import { hang, html, json, raw, reset, type Script, status } from '../support/scripts.ts';
import { closeAll, MANY, MANY_STREAM, severalTargets } from '../support/several-targets.ts';
import { cut, malformedSse, sse } from '../support/sse-scripts.ts';

const LONG = Boolean(process.env.GW_LONG);
const SEED = Number(process.env.GW_SEED ?? 17);
const A_ROUND = 120;
const ROUNDS = LONG ? 850 : 2;
const AT_ONCE = 40;
const DOLLAR = 1_000_000_000;

const SSE_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';

/** Timeouts of plain answers are as coarse as undici's timers, a second, so only streams stall here. */
const hangs: Script = async (exchange) => {
  const { stream } = JSON.parse((await exchange.body).toString()) as { stream?: boolean };
  await (stream ? hang() : reset())(exchange);
};

/** The ways in which a provider can fail. */
const FAULTS: Script[] = [
  ...[400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529].map((code) => status(code)),
  status(429, { retryAfter: '0' }),
  status(429, { retryAfter: '1' }),
  status(503, { retryAfter: 'soon' }),
  json(429, { error: { message: 'quota', code: 'insufficient_quota' } }),
  json(402, { error: { code: 402, message: 'Insufficient credits' } }),
  json(400, { error: { code: 'context_length_exceeded', message: 'too long' } }),
  json(200, { error: { message: 'overloaded', code: 503 } }),
  json(200, { choices: [] }),
  html(200),
  html(502),
  hangs,
  reset(),
  reset({ afterBytes: 90 }),
  raw('BANANA\r\n\r\n'),
  raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"cho'),
  raw(`${SSE_HEAD}data: {"error":{"message":"overloaded"}}\n\n`),
  raw(`${SSE_HEAD}data: [DONE]\n\n`),
  raw(`${SSE_HEAD}: nothing\n\n`),
  cut({ afterChunks: 0 }),
  cut({ afterChunks: 1 }),
  cut({ afterChunks: 3, end: 'close' }),
  cut({ afterChunks: 2, end: 'finish' }),
  malformedSse(),
];

const good: Script = async (exchange) => {
  const { stream } = JSON.parse((await exchange.body).toString()) as { stream?: boolean };
  await (stream ? sse(['all', ' is', ' well']) : completion({ content: 'all is well' }))(exchange);
};

test(
  `${ROUNDS * A_ROUND} scripts of faults: one answer each, three attempts at most, no cap passed, nothing left open`,
  async () => {
    const random = seededRandom(SEED);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    for (let round = 0; round < ROUNDS; round++) {
      const capUsd = pick([0.0005, 0.005, 1]);
      const several = await severalTargets({
        join: pick([', ', ' | ']),
        random: (bytes) => Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256))),
        budget: { period: 'daily', capUsd },
        settings: {
          'routing.first_byte_timeout_ms': 100,
          'upstream.first_byte_timeout_ms': 200,
          'upstream.idle_timeout_ms': 200,
          'admission.max_wait_ms': 50,
        },
      });
      const { gateway, upstreams } = several;
      for (const upstream of upstreams) {
        const share = random();
        upstream.script((exchange) => (random() < share ? pick(FAULTS) : good)(exchange));
      }
      const answers: RawResponse[] = [];
      for (let sent = 0; sent < A_ROUND; sent += AT_ONCE) {
        const batch = Array.from({ length: AT_ONCE }, () =>
          gateway.post(random() < 0.5 ? MANY_STREAM : MANY),
        );
        answers.push(...(await Promise.all(batch)));
      }
      const records = await gateway.settled(A_ROUND);
      const seed = `seed ${SEED}, round ${round}`;
      expect(requestsIn(records), seed).toBe(A_ROUND);
      expect(new Set(answers.map((answer) => answer.header('x-service-request-id'))).size, seed).toBe(
        A_ROUND,
      );
      for (const answer of answers) checkAnswer(answer, seed);
      for (const record of records) checkRecord(record, seed);
      const byId = new Map(records.map((record) => [formatRequestId(record.id), record]));
      for (const answer of answers)
        checkModel(answer, byId.get(answer.header('x-service-request-id') ?? ''), seed);
      const { posted, pending } = gateway.db
        .prepare<[], { posted: number; pending: number }>(
          'SELECT total(posted_nano_usd) AS posted, total(pending_nano_usd) AS pending FROM budget_periods',
        )
        .get() ?? { posted: -1, pending: -1 };
      expect(pending, seed).toBe(0);
      expect(posted, seed).toBeLessThanOrEqual(capUsd * DOLLAR);
      expect(posted, seed).toBe(records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0));
      await closeAll(several);
    }
  },
  LONG ? 7_200_000 : 180_000,
);

/** Expects a complete answer, an error with a code, or a stream that is visibly incomplete. */
function checkAnswer(answer: RawResponse, seed: string): void {
  const text = answer.text();
  if (answer.status >= 400) {
    expect(answer.complete, seed).toBe(true);
    expect(text.length, seed).toBeGreaterThan(0);
    return;
  }
  expect(answer.status, `${seed}: ${text}`).toBe(200);
  if (!answer.header('content-type')?.startsWith('text/event-stream')) {
    expect(text, seed).toContain('all is well');
    return;
  }
  const contents = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join('');
  if (answer.complete) expect(contents, `${seed}: ${text}`).toBe('all is well');
  else expect(text, seed).not.toContain('[DONE]');
  expect(text.match(/"role":"assistant"/g)?.length, `${seed}: ${text}`).toBe(1);
}

function checkRecord(record: LoggedRequest, seed: string): void {
  const attempts = (record.detail.attempts ?? []) as {
    provider: string;
    cost_usd: number;
    outcome: string;
  }[];
  expect(attempts.length, seed).toBeLessThanOrEqual(3);
  expect(new Set(attempts.map(({ provider }) => provider)).size, seed).toBe(attempts.length);
  if (attempts.length > 0) {
    expect(attempts.at(-1)?.provider, seed).toBe(record.provider);
    const sum = attempts.reduce((total, { cost_usd }) => total + cost_usd, 0);
    expect(Math.round(sum * DOLLAR), seed).toBe(record.costNanoUsd);
  }
  for (const count of [record.inputTokens, record.outputTokens, record.costNanoUsd]) {
    expect(count, seed).toBeGreaterThanOrEqual(0);
  }
  if (record.outcome === 'ok') expect(record.status, seed).toBe(200);
  expect(record.costNanoUsd, seed).toBeLessThanOrEqual(record.holdNanoUsd);
}

/** Expects the same model in the answer, its headers, the record and the upstream request. */
function checkModel(answer: RawResponse, record: LoggedRequest | undefined, seed: string): void {
  const [provider, model] = [answer.header('x-service-provider'), answer.header('x-service-model')];
  if (provider === undefined) return;
  expect([record?.provider, record?.model], seed).toEqual([provider, model]);
  expect(model, seed).toBe(`m-${provider}`);
  // The upstreams answer with the model of the request.
  const said = /"model":"([^"]*)"/.exec(answer.text())?.[1];
  if (said !== undefined) expect(said, seed).toBe(model);
}
