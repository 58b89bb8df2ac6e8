import { type Prompt, readPrompt } from '../../tiering/prompt.ts';
import { messagesIn } from '../input/request-file.ts';

/** Reads a prompt from unchecked messages. `where` names the input in errors. */
export function promptIn(messages: unknown, where: string): Prompt {
  return readPrompt(
    messagesIn(messages, where).map(({ role, content }) => ({
      role: typeof role === 'string' ? role : '',
      content,
    })),
  );
}
