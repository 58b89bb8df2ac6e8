import type { Answer, AnswerEvent, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import { NO_USAGE } from '../../conversation/answer.ts';
import { type AnswerOptions, type AnswerWriter, SIGN } from '../../conversation/answer-writer.ts';
import type { CallPart, Seal } from '../../conversation/conversation.ts';
import { isTooLong, type ProviderError, readError } from '../../errors.ts';
import type { Json } from '../../json.ts';

const FINISH: Readonly<Record<EndReason, string>> = {
  stop: 'stop',
  calls: 'tool_calls',
  paused: 'stop',
  length: 'length',
  filter: 'content_filter',
};

const finishReason = (reason: EndReason, hasCalls: boolean): string =>
  hasCalls && FINISH[reason] === 'stop' ? 'tool_calls' : FINISH[reason];

/** Writes chat completions. */
export class ChatAnswerWriter implements AnswerWriter {
  readonly #options: AnswerOptions;
  readonly #calls = new Set<number>();
  /** The fields that all chunks share. */
  #identity: Json;
  #usage: AnswerUsage | undefined;
  /** Fields beside the calls that follow, by the calls' ids. */
  readonly #extras = new Map<unknown, unknown>();

  constructor(options: AnswerOptions) {
    this.#options = options;
    const created = Math.floor(options.now() / 1000);
    this.#identity = { id: '', object: 'chat.completion.chunk', created, model: options.model };
  }

  stream(events: readonly AnswerEvent[]): string {
    return events.map((event) => (event.type === 'ping' ? SIGN : textOf(this.#chunks(event)))).join('');
  }

  #chunks(event: AnswerEvent): string[] {
    switch (event.type) {
      case 'start': {
        const { id, model, created } = event;
        const { now, model: ownModel } = this.#options;
        this.#identity = { ...this.#identity, ...identityOf({ id, model: model ?? ownModel, created }, now) };
        return [this.#chunk({ role: 'assistant', content: '', refusal: null })];
      }
      case 'text':
        return [this.#chunk({ content: event.text })];
      case 'refusal':
        return [this.#chunk({ refusal: event.text })];
      case 'reasoning':
        return [this.#chunk({ reasoning_content: event.text })];
      case 'seal': {
        for (const { id, extra_content } of extrasOf(event.seal)) this.#extras.set(id, extra_content);
        const fields = sealFields([event.seal], this.#options.pack);
        return Object.keys(fields).length > 0 ? [this.#chunk(fields)] : [];
      }
      case 'call': {
        const { key: index, id, name } = event;
        this.#calls.add(index);
        const extra_content = this.#extras.get(id);
        const call = { index, id, type: 'function', function: { name, arguments: '' } };
        return [
          this.#chunk({ tool_calls: [extra_content === undefined ? call : { ...call, extra_content }] }),
        ];
      }
      case 'arguments':
        return [this.#chunk({ tool_calls: [{ index: event.key, function: { arguments: event.text } }] })];
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'error':
        return [JSON.stringify({ error: errorFields(readError(event.error)) })];
      case 'end':
        return this.#end(event.reason);
      default:
        return [];
    }
  }

  #chunk(delta: Json, finish_reason: string | null = null): string {
    return JSON.stringify({
      ...this.#identity,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(this.#options.wantsUsage ? { usage: null } : {}),
    });
  }

  #end(reason: EndReason): string[] {
    const last = this.#chunk({}, finishReason(reason, this.#calls.size > 0));
    if (!this.#options.wantsUsage) return [last, '[DONE]'];
    const usage = usageOf(this.#usage ?? NO_USAGE);
    return [last, JSON.stringify({ ...this.#identity, choices: [], usage }), '[DONE]'];
  }

  sign(): string {
    return SIGN;
  }

  whole(answer: Answer): Json {
    const { now, model } = this.#options;
    const hasCalls = answer.parts.some((part) => part.type === 'call');
    const message = this.#message(answer);
    return {
      ...identityOf({ ...answer.head, model: answer.head.model ?? model }, now),
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer.reason, hasCalls) }],
      usage: usageOf(answer.usage ?? NO_USAGE),
    };
  }

  #message({ parts }: Answer): Json {
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const refusals = parts.flatMap((part) => (part.type === 'refusal' ? [part.text] : []));
    const calls = parts.filter((part): part is CallPart => part.type === 'call');
    const reasoning = parts.filter((part) => part.type === 'reasoning');
    const seals = reasoning.flatMap((part) => part.seals);
    const text = reasoning.map((part) => part.text).join('');
    const extras = new Map(seals.flatMap(extrasOf).map(({ id, extra_content }) => [id, extra_content]));
    return {
      role: 'assistant',
      content: texts.length > 0 ? texts.join('') : null,
      refusal: refusals.length > 0 ? refusals.join('') : null,
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, args }) => ({
          id,
          type: 'function',
          function: { name, arguments: args || '{}' },
          ...(extras.has(id) && { extra_content: extras.get(id) }),
        })),
      }),
      ...(text !== '' || seals.some(({ kind }) => kind === 'thinking') ? { reasoning_content: text } : {}),
      ...sealFields(seals, this.#options.pack),
    };
  }

  error(error: ProviderError, status: number): Json {
    return { error: errorFields(error, status) };
  }
}

const textOf = (chunks: readonly string[]): string => chunks.map((data) => `data: ${data}\n\n`).join('');

function identityOf({ id, model, created }: Json, now: () => number): Json {
  const seconds = typeof created === 'number' ? created : Math.floor(now() / 1000);
  return { id, created: seconds, model };
}

const extrasOf = ({ kind, values }: Seal): readonly Json[] => (kind === 'calls' ? values : []);

/** OpenAI's API has no field for seals. Other gateways use these, and clients that keep them send them back. */
function sealFields(seals: readonly Seal[], pack: AnswerOptions['pack']): Json {
  const blocks = seals.flatMap((seal) => {
    if (seal.kind === 'thinking') return seal.values;
    return seal.kind === 'encrypted' ? [{ type: 'redacted_thinking', data: pack(seal) }] : [];
  });
  const details = seals.flatMap(({ kind, values }) => (kind === 'details' ? values : []));
  return {
    ...(blocks.length > 0 && { thinking_blocks: blocks }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

function usageOf({ input, cached, written, output, reasoning }: AnswerUsage): Json {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      audio_tokens: 0,
      ...(written > 0 ? { cache_write_tokens: written } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** OpenAI's types by HTTP status, for errors of APIs that have no types. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

/** An error in OpenAI's form, whose code tells clients to shorten the prompt. */
export function errorFields(error: ProviderError, status?: number): Json {
  const { message, type, code, param } = error;
  return {
    message,
    type: type ?? ERROR_TYPES[status ?? 0] ?? 'api_error',
    param: param ?? null,
    code: isTooLong(error) ? 'context_length_exceeded' : (code ?? null),
  };
}
