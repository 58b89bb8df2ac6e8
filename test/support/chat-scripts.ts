import { chatRequestOf, promptTokensOf } from './chat-request.ts';
import { completionBody, type Usage, usageOf } from './chat-shapes.ts';
import { json, type Script } from './scripts.ts';
import { sse } from './sse-scripts.ts';

export interface CompletionOptions {
  content?: string;
  /** Left out: counted from the request and the words. `'none'`: the answer has no usage. */
  usage?: Usage | null | 'none';
  headers?: Record<string, string>;
}

/** A whole chat completion. */
export function completion(options: CompletionOptions = {}): Script {
  const { content = 'Hello from the upstream.', usage: given, headers } = options;
  return async (exchange) => {
    const { model } = await chatRequestOf(exchange);
    const counted = usageOf(promptTokensOf(exchange), wordsOf(content).length);
    const usage = given === undefined ? counted : given === 'none' ? undefined : given;
    const { prompt_tokens, completion_tokens } = usage ?? counted;
    exchange.bill({ input: prompt_tokens, output: completion_tokens });
    await json(200, completionBody(model, content, usage), headers)(exchange);
  };
}

/** A chat completion as the request wants it: whole, or streamed a word at a time. */
export function answer(content: string): Script {
  return async (exchange) => {
    const { stream } = await chatRequestOf(exchange);
    const script = stream ? sse(wordsOf(content)) : completion({ content });
    await script(exchange);
  };
}

/** The words of a text, each with the space before it: joined they are the text. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}
