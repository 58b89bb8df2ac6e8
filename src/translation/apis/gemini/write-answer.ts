import { isObject } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import { googleError } from '../../../wire/answer/google-error.ts';
import type { Answer, AnswerEvent, AnswerHead, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import type { AnswerOptions, AnswerWriter } from '../../conversation/answer-writer.ts';
import type { Seal } from '../../conversation/conversation.ts';
import { isTooLong, type ProviderError, readError } from '../../errors.ts';
import type { Json } from '../../json.ts';
import { packSignature } from './signature.ts';

const REASONS: Readonly<Record<EndReason, string>> = {
  stop: 'STOP',
  calls: 'STOP',
  paused: 'STOP',
  length: 'MAX_TOKENS',
  filter: 'SAFETY',
};

/** A call whose arguments are complete when the answer ends. */
interface OpenCall {
  id: string;
  name: string;
  args: string;
}

/** Writes Gemini's answers. Calls come whole, with the last event; the first has all that has to come back. */
export class GeminiAnswerWriter implements AnswerWriter {
  readonly #options: AnswerOptions;
  readonly #showsThoughts: boolean;
  readonly #calls = new Map<number, OpenCall>();
  readonly #seals: Seal[] = [];
  #head: AnswerHead = {};
  #responseId: string | undefined;
  #thoughts = '';
  #usage: AnswerUsage | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#showsThoughts = wantsThoughts(options.request);
  }

  stream(events: readonly AnswerEvent[]): string {
    return events.map((event) => dataOf(this.#answerOf(event))).join('');
  }

  #answerOf(event: AnswerEvent): Json | undefined {
    switch (event.type) {
      case 'start':
        this.#head = event;
        return undefined;
      case 'text':
      case 'refusal':
        return this.#answer([{ text: event.text }]);
      case 'reasoning':
        this.#thoughts += event.text;
        return this.#showsThoughts ? this.#answer([{ text: event.text, thought: true }]) : undefined;
      case 'seal':
        this.#seals.push(event.seal);
        return undefined;
      case 'call':
        this.#calls.set(event.key, { id: event.id, name: event.name, args: '' });
        return undefined;
      case 'arguments': {
        const call = this.#calls.get(event.key);
        if (call) call.args += event.text;
        return undefined;
      }
      case 'usage':
        this.#usage = event.usage;
        return undefined;
      case 'ping':
        return this.#sign();
      case 'error':
        return this.error(readError(event.error), 500);
      case 'end':
        return this.#answer(
          this.#calls.size > 0 ? this.#callParts([...this.#calls.values()]) : NOTHING,
          event.reason,
        );
    }
  }

  whole({ head, parts, usage, reason }: Answer): Json {
    this.#head = head;
    this.#usage = usage;
    const calls: OpenCall[] = [];
    const written = parts.flatMap((part): Json[] => {
      switch (part.type) {
        case 'reasoning':
          this.#thoughts += part.text;
          this.#seals.push(...part.seals);
          return this.#showsThoughts && part.text !== '' ? [{ text: part.text, thought: true }] : [];
        case 'call':
          calls.push(part);
          return [];
        default:
          return [{ text: part.text }];
      }
    });
    return this.#answer([...written, ...this.#callParts(calls)], reason);
  }

  #callParts(calls: readonly OpenCall[]): Json[] {
    const plain: Seal[] = this.#thoughts === '' ? [] : [{ kind: 'text', values: [{ text: this.#thoughts }] }];
    const seals = [...plain, ...this.#seals];
    return calls.map(({ id, name, args }, i) => ({
      functionCall: { id, name, args: parseObject(args) ?? (args.trim() === '' ? {} : { arguments: args }) },
      ...(i === 0 && seals.length > 0 && { thoughtSignature: packSignature(seals.map(this.#options.pack)) }),
    }));
  }

  #answer(parts: readonly Json[], reason?: EndReason): Json {
    const finishReason = reason && REASONS[reason];
    const { id, model } = this.#head;
    this.#responseId ??= typeof id === 'string' && id !== '' ? id : this.#options.newId('resp');
    return {
      candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
      ...(this.#usage && { usageMetadata: metadataOf(this.#usage) }),
      modelVersion: model ?? this.#options.model,
      responseId: this.#responseId,
    };
  }

  /** Google's own clients can't read comments, and forget an answer of which an event has no part. */
  #sign(): Json {
    return this.#answer(NOTHING);
  }

  sign(): string {
    return dataOf(this.#sign());
  }

  error(error: ProviderError, status: number): Json {
    const { message } = error;
    const isLong = isTooLong(error) && !/input token count/i.test(message);
    const text = isLong
      ? `The input token count exceeds the maximum number of tokens allowed: ${message}`
      : message;
    return { error: googleError(text, isTooLong(error) ? 400 : status) };
  }
}

/** What Gemini itself says where it has nothing to say. */
const NOTHING: readonly Json[] = [{ text: '' }];

const dataOf = (answer: Json | undefined): string => (answer ? `data: ${JSON.stringify(answer)}\n\n` : '');

/** Google shows thoughts only to clients that ask for them. */
function wantsThoughts({ generationConfig: config }: Json): boolean {
  const thinking = isObject(config) ? (config.thinkingConfig ?? config.thinking_config) : undefined;
  return isObject(thinking) && (thinking.includeThoughts ?? thinking.include_thoughts) === true;
}

/** Google counts thoughts beside the rest of the output. */
function metadataOf({ input, cached, output, reasoning }: AnswerUsage): Json {
  return {
    promptTokenCount: input,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    candidatesTokenCount: Math.max(0, output - reasoning),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    totalTokenCount: input + output,
  };
}
