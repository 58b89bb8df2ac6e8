import { type ScoredMessage, scorePrompt } from '../../tiering/score.ts';
import { usageError } from '../exit.ts';
import type { JsonObject } from '../input/jsonl.ts';
import { messagesIn } from '../input/request-file.ts';

/**
 * Answers `{"id","messages"}` with `{"id","score"}`. Lines with feedback are for scorers that learn; gw reads over them
 * if `online` says that they come.
 */
export function scorer({ online }: { online: boolean }): (question: JsonObject) => JsonObject | undefined {
  return ({ id, messages, feedback }) => {
    if (feedback === undefined) return { id, score: scorePrompt(promptIn(messages, 'the line')).score };
    if (!online) throw usageError('feedback requires --online');
    return undefined;
  };
}

/** Reads a prompt from unchecked messages. `where` names the input in errors. */
export function promptIn(messages: unknown, where: string): ScoredMessage[] {
  return messagesIn(messages, where).map(({ role, content }) => ({
    role: typeof role === 'string' ? role : '',
    content,
  }));
}
