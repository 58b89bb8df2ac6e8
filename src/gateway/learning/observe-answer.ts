import { messageOf } from '../../errors.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { type AnswerSummary, summarizeAnswer, summarizeStream } from '../../wire/answer/summary.ts';
import type { Relay } from '../answer/relay.ts';
import type { Attempt, AttemptResult } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { rateAnswer } from './rate-answer.ts';

/** Longer answers are not parsed. */
const MAX_BYTES = 1_000_000;

/** Rates a good answer by what can be seen of it, once the client has it, where a tier was chosen for the request. */
export function observeAnswer(
  gateway: Pick<Gateway, 'labels' | 'warn'>,
  { context, target, admitted }: Attempt,
  { relay }: Pick<AttemptResult, 'relay'>,
  { outcome }: Settlement,
): void {
  const { exchange, project, conversation, tier } = context;
  if (!tier || !conversation || outcome !== 'ok') return;
  const limited = context.request.maxOutputTokens !== undefined || admitted.limit !== undefined;
  const isWeak = tier.weak.some(
    ({ provider, model }) => provider === target.provider && model === target.model,
  );
  setImmediate(() => {
    try {
      const summary = summaryOf(relay);
      gateway.labels.answered({
        id: exchange.id,
        project: project.name,
        tier: isWeak ? 'weak' : 'strong',
        prompt: tier.prompt,
        conversation: conversation.key,
        turns: tier.turns,
        quality: summary && rateAnswer(summary, { json: tier.wantsJson, limited }),
      });
    } catch (error) {
      gateway.warn(`an answer could not be rated: ${messageOf(error)}`);
    }
  });
}

/** Undefined for an answer that can't be read. */
function summaryOf(relay: Pick<Relay, 'lastEvents' | 'unsent'>): AnswerSummary | undefined {
  const { lastEvents } = relay;
  if (lastEvents) return summarizeStream(lastEvents.events, lastEvents.isWhole);
  const bytes = relay.unsent;
  const answer = bytes && bytes.length <= MAX_BYTES ? parseObject(bytes.toString('utf8')) : undefined;
  return answer && summarizeAnswer(answer);
}
