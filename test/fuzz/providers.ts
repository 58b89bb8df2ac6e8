import { requestBytes } from '../support/client.ts';
import { requestsIn } from '../support/home.ts';
import type { Script } from '../support/scripts.ts';
import { CLAUDE } from '../wire/support/anthropic-gateway.ts';
import { type Booking, breakAnswer } from './answers.ts';
import { BOUND_MS, converse } from './converse.ts';
import { diceOf } from './dice.ts';
import { planOf, type Reported } from './plans.ts';
import { atOnce, generalProblems, isPaid, type Outcome, outcomeOf, type Round, SECRETS } from './round.ts';

const AT_ONCE = 48;
const CASE = /case (\d+)\./;
const FILLER = 'lorem ipsum dolor sit amet '.repeat(30);

/** What a provider was made to say for a case. */
interface Told {
  reported: Reported;
  booking: Booking;
  how: string;
  bytes: Buffer;
  times: number;
}

const ROUTES: readonly [path: string, model: string][] = [
  ['/v1/chat/completions', 'mock/test-model'],
  ['/v1/messages', `anthropic/${CLAUDE}`],
  ['/v1/responses', 'mock/test-model'],
  ['/v1/completions', 'mock/test-model'],
  ['/v1/embeddings', 'mock/test-model'],
  ['/v1/chat/completions', `anthropic/${CLAUDE}`],
  ['/v1/messages', 'mock/test-model'],
];

/** Sends valid requests to a gateway whose provider breaks its answers, and returns what went wrong. */
export async function fuzzProviders(round: Round, seed: number, cases: number[]): Promise<string[]> {
  const { gateway, received } = round;
  const told = new Map<number, Told>();
  gateway.upstream.script(brokenProvider(seed, told));
  await atOnce(cases, AT_ONCE, async (each) => {
    const [path, model] = ROUTES[each % ROUTES.length] as (typeof ROUTES)[number];
    const body = { model, ...promptOf(path, `case ${each}. ${FILLER}`), stream: each % 3 !== 0 || undefined };
    const headers = {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      connection: 'close',
    };
    const bytes = requestBytes(gateway.origin + path, {
      body: path === '/v1/embeddings' ? { ...body, stream: undefined } : body,
      headers,
    });
    received.set(
      each,
      await converse(gateway.daemon.port, { pieces: [bytes], requests: 1, hangsUp: false }, BOUND_MS),
    );
  });
  const problems: string[] = [];
  const outcome = await outcomeOf(round, problems, false);
  const requests = requestsIn(outcome.records);
  if (requests !== cases.length) problems.push(`records of ${requests} requests, not of ${cases.length}`);
  for (const each of cases) problems.push(...caseProblems(each, told.get(each), outcome));
  return [...problems, ...generalProblems(round, outcome)];
}

function promptOf(path: string, text: string): object {
  if (path === '/v1/responses') return { input: text, max_output_tokens: 300 };
  if (path === '/v1/embeddings') return { input: text };
  if (path === '/v1/completions') return { prompt: text, max_tokens: 300 };
  return { messages: [{ role: 'user', content: text }], max_tokens: 300 };
}

function brokenProvider(seed: number, told: Map<number, Told>): Script {
  return async (exchange) => {
    const asked = (await exchange.body).toString();
    const each = Number(CASE.exec(asked)?.[1]);
    const dice = diceOf(seed, each);
    const reported = { input: 201 + dice.below(90), output: 101 + dice.below(90) };
    const plan = planOf(exchange.request.path, asked.includes('"stream":true'), reported);
    const secret = exchange.request.head.headers.some(([name]) => name.toLowerCase() === 'x-api-key')
      ? SECRETS.anthropic
      : SECRETS.mock;
    const { pieces, end, booking, how } = breakAnswer(plan, dice, secret);
    // Before it refuses a request, gw may ask for a count of its tokens.
    if (!/\/(count|input)_tokens$/.test(exchange.request.path))
      told.set(each, {
        reported,
        booking,
        how,
        bytes: Buffer.concat(pieces),
        times: 1 + (told.get(each)?.times ?? 0),
      });
    for (const piece of pieces) if (piece.length > 0) await exchange.write(piece);
    if (end === 'close') exchange.close();
    else if (end === 'reset') exchange.reset();
    else if (end === 'hang') await exchange.untilGone();
  };
}

function caseProblems(each: number, told: Told | undefined, { answers, byId }: Outcome): string[] {
  const given = answers.get(each) ?? [];
  const [answer] = given;
  if (given.length !== 1 || !answer) return [`case ${each} (${told?.how}): ${given.length} answers`];
  const record = byId.get(answer.headers.get('x-service-request-id') ?? '');
  // Refused before it was sent: many refusals of a key share a record.
  if (!told)
    return answer.status === 402 || answer.status === 429
      ? []
      : [`case ${each}: ${answer.status} ${answer.body}`];
  if (!record) return [`case ${each} (${told.how}): no record for ${answer.status} ${answer.body}`];
  const { reported, booking, how } = told;
  const { inputTokens, outputTokens, flags, outcome } = record;
  const what = `case ${each} (${how}): ${outcome}, ${inputTokens}/${outputTokens}, ${record.costNanoUsd}, ${flags}`;
  const isEstimated = flags.includes('estimated');
  if (booking === 'reported') {
    const output = record.endpoint.includes('embeddings') ? 0 : reported.output;
    const isRight =
      outcome === 'ok' &&
      answer.complete &&
      inputTokens === reported.input &&
      outputTokens === output &&
      !isEstimated &&
      isPaid(record, reported);
    return isRight
      ? []
      : [
          `${what}; reported ${reported.input}/${reported.output}; ${answer.status} ${answer.body.toString().slice(0, 200)}`,
        ];
  }
  if (booking === 'estimated')
    return isEstimated && outputTokens > 0 && inputTokens > 0 ? [] : [`${what}, but no usage was reported`];
  if (isEstimated || (inputTokens === 0 && outputTokens === 0)) return [];
  // The framing of chunks may cut a number in two, so the plan's own count too.
  const said = new Set([reported.input, reported.output]);
  for (const [digits] of told.bytes.toString('latin1').matchAll(/\d+/g)) said.add(Number(digits));
  const isSaid = (count: number) =>
    count === 0 || said.has(count) || [...said].some((a) => said.has(a + count) || said.has(count - a));
  return isSaid(inputTokens) && isSaid(outputTokens) ? [] : [`${what}, which the provider never said`];
}
