import { messageOf } from '../errors.ts';
import { type Signs, signsOf, signsOfStream } from './answer-signs.ts';
import type { TierChoice } from './choose-tier.ts';
import type { Forwarding } from './complete.ts';
import type { Gateway } from './gateway.ts';
import { judgeAnswer } from './judge-answer.ts';
import type { Relay } from './relay.ts';
import type { CallReport } from './relay-answer.ts';
import { parseObject } from './wire/events.ts';

/** Answers that are longer are not looked into. */
const MAX_BYTES = 1_000_000;

/** Learns from a good answer what shows of its worth, once the client has it. */
export function learnFrom(
  gateway: Gateway,
  { job, target, admitted }: Forwarding,
  { weak, prompt, turns, wantsJson }: TierChoice,
  { relay }: CallReport,
): void {
  const { exchange, project, conversation } = job;
  if (!conversation) return;
  const limited = job.asked.maxOutputTokens !== undefined || admitted.limit !== undefined;
  const isWeak = weak.some(({ provider, model }) => provider === target.provider && model === target.model);
  setImmediate(() => {
    try {
      const signs = signsIn(relay);
      gateway.lessons.answered({
        id: exchange.id,
        project: project.name,
        tier: isWeak ? 'weak' : 'strong',
        prompt,
        conversation: conversation.key,
        turns,
        quality: signs && judgeAnswer(signs, { json: wantsJson, limited }),
      });
    } catch (error) {
      gateway.warn(`nothing was learnt from an answer: ${messageOf(error)}`);
    }
  });
}

/** Undefined for what can't be read. */
function signsIn(relay: Relay): Signs | undefined {
  const { lastEvents } = relay;
  if (lastEvents) return signsOfStream(lastEvents.events, lastEvents.isWhole);
  const answer = relay.unsent;
  const read = answer && answer.length <= MAX_BYTES ? parseObject(answer.toString('utf8')) : undefined;
  return read && signsOf(read);
}
