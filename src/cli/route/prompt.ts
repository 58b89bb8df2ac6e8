import { type Prompt, readPrompt } from '../../tiering/prompt.ts';
import { messagesIn } from '../input/request-file.ts';

/** The prompt of messages as they came; `where` is for the message about what is wrong with them. */
export function promptIn(messages: unknown, where: string): Prompt {
  return readPrompt(
    messagesIn(messages, where).map(({ role, content }) => ({
      role: typeof role === 'string' ? role : '',
      content,
    })),
  );
}
