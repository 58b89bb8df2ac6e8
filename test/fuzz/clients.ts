import type { Script } from '../support/scripts.ts';
import { converse } from './converse.ts';
import { diceOf } from './dice.ts';
import { planOf } from './plans.ts';
import { makeSending } from './requests.ts';
import { atOnce, generalProblems, outcomeOf, type Round } from './round.ts';

const REPORTED = { input: 7, output: 5 };
const AT_ONCE = 48;
const METERED = ['chat/completions', 'messages', 'responses', 'completions', 'complete'];

/** A provider that reports the same sane usage for everything, whatever it is asked. */
export const steadyProvider: Script = async (exchange) => {
  const asked = (await exchange.body).toString();
  const [path = ''] = exchange.request.path.split('?');
  const { events, isStream } = planOf(path, /"stream"\s*:\s*true/.test(asked), REPORTED);
  if (!isStream) {
    await exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(events[0]));
    return;
  }
  await exchange.start(200, { 'content-type': 'text/event-stream' });
  const texts = events.map(
    (event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`,
  );
  await exchange.chunk(texts.join(''));
  await exchange.finish();
};

/** Sends the cases to a gateway on a steady provider, and returns what went wrong. */
export async function fuzzClients(round: Round, seed: number, cases: number[]): Promise<string[]> {
  const { gateway, received } = round;
  gateway.upstream.script(steadyProvider);
  await atOnce(cases, AT_ONCE, async (each) => {
    const sending = makeSending(diceOf(seed, each), gateway.key);
    received.set(each, await converse(gateway.daemon.port, sending));
  });
  const problems: string[] = [];
  const outcome = await outcomeOf(round, problems);
  for (const [number, answers] of outcome.answers) {
    // The provider never fails, so that every 5xx is gw's own.
    for (const { status, body } of answers)
      if (status >= 500) problems.push(`case ${number}: ${status} ${body.toString().slice(0, 300)}`);
  }
  for (const { outcome: end, flags, inputTokens, outputTokens, status, endpoint } of outcome.records) {
    const isMetered = METERED.includes(endpoint);
    if (end !== 'ok' || status !== 200 || !isMetered || flags.includes('estimated')) continue;
    if (inputTokens !== REPORTED.input || outputTokens !== REPORTED.output)
      problems.push(`${endpoint} was booked at ${inputTokens}/${outputTokens}`);
  }
  return [...problems, ...generalProblems(round, outcome)];
}
