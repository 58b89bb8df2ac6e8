import { messageOf } from '../../errors.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { type AnswerSummary, summarizeAnswer, summarizeStream } from '../../wire/answer/summary.ts';
import type { Sending } from '../admission/admitted.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import type { TierChoice } from '../context/tier-choice.ts';
import { rateAnswer } from './rate-answer.ts';

/** Answers that are longer are not looked into. */
const MAX_BYTES = 1_000_000;

/** What is left of an answer once it is delivered. */
type Answer = Pick<Relay, 'lastEvents' | 'unsent'>;

/** Learns what the look of a good answer says about its quality, once the client has it. */
export function observeAnswer(
  gateway: Gateway,
  { context, target, admitted }: Sending,
  tier: TierChoice,
  relay: Answer,
): void {
  const { exchange, project, conversation } = context;
  if (!conversation) return;
  const limited = context.request.maxOutputTokens !== undefined || admitted.limit !== undefined;
  const isWeak = tier.weak.some(
    ({ provider, model }) => provider === target.provider && model === target.model,
  );
  setImmediate(() => {
    try {
      const signs = signsIn(relay);
      gateway.labels.answered({
        id: exchange.id,
        project: project.name,
        tier: isWeak ? 'weak' : 'strong',
        prompt: tier.prompt,
        conversation: conversation.key,
        turns: tier.turns,
        quality: signs && rateAnswer(signs, { json: tier.wantsJson, limited }),
      });
    } catch (error) {
      gateway.warn(`nothing was learnt from an answer: ${messageOf(error)}`);
    }
  });
}

/** Undefined for what can't be read. */
function signsIn(relay: Answer): AnswerSummary | undefined {
  const { lastEvents } = relay;
  if (lastEvents) return summarizeStream(lastEvents.events, lastEvents.isWhole);
  const answer = relay.unsent;
  const read = answer && answer.length <= MAX_BYTES ? parseObject(answer.toString('utf8')) : undefined;
  return read && summarizeAnswer(read);
}
