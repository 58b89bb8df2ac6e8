import { type AnswerHead, answerHead } from '../../wire/answer/served-model.ts';
import type { Relay } from './relay.ts';

type Opening = Pick<Relay, 'isStream' | 'firstEvents' | 'unsent'>;

/** Where an answer says what it is: the first events of a stream, or the whole; undefined if it can't be read. */
export const openingOf = (relay: Opening): Buffer | undefined =>
  relay.isStream ? relay.firstEvents : relay.unsent;

/** The model and the id that an answer states; undefined if it names no model. */
export function headOf(relay: Opening): AnswerHead | undefined {
  const answer = openingOf(relay);
  return answer && answerHead(answer, relay.isStream);
}
