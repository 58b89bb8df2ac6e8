import { isObject } from '../../json/object.ts';
import { addUsage } from '../../wire/answer/add-usage.ts';
import { valuesIn } from '../../wire/answer/events.ts';
import { EMPTY, type Json } from '../json.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';
import { chatCompletion, chatError, chatErrorFields, chatUsage, finishReason } from './answer.ts';

/** Anthropic's answers for a client of chat completions. */
export function translateForChat(options: TranslatorOptions): Translator {
  const stream = chatStream(options);
  return {
    answer: (body, status) =>
      Buffer.from(JSON.stringify(status >= 400 ? chatError(body) : chatCompletion(body, options))),
    events(events) {
      const data: string[] = [];
      for (const value of valuesIn(events)) data.push(...stream(value).map((chunk) => `data: ${chunk}\n\n`));
      return data.length === 0 ? EMPTY : Buffer.from(data.join(''));
    },
    // A stream without its message_stop was cut, whatever else it says.
    end: () => EMPTY,
  };
}

/** A tool call whose input comes in pieces. */
interface OpenCall {
  index: number;
  /** What it has where no pieces follow. */
  input: unknown;
  hasPieces: boolean;
}

/** From one event to the next: the data of the chunks that each one makes. */
function chatStream({ model, wantsUsage, now }: TranslatorOptions): (event: Json) => string[] {
  const identity: Json = {
    id: '',
    object: 'chat.completion.chunk',
    created: Math.floor(now() / 1000),
    model,
  };
  const calls = new Map<unknown, OpenCall>();
  let usage: unknown;
  let thought = '';
  const nullUsage = wantsUsage ? { usage: null } : {};
  const chunk = (delta: Json, finish_reason: string | null = null) =>
    JSON.stringify({
      ...identity,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...nullUsage,
    });
  const argumentsOf = ({ index }: OpenCall, text: unknown) =>
    chunk({ tool_calls: [{ index, function: { arguments: text } }] });

  function start(index: unknown, block: Json): string[] {
    if (block.type === 'redacted_thinking') return [chunk({ thinking_blocks: [block] })];
    if (block.type !== 'tool_use') return [];
    const call = { index: calls.size, input: block.input ?? {}, hasPieces: false };
    calls.set(index, call);
    const { id, name } = block;
    return [
      chunk({ tool_calls: [{ index: call.index, id, type: 'function', function: { name, arguments: '' } }] }),
    ];
  }

  function add(index: unknown, delta: Json): string[] {
    switch (delta.type) {
      case 'text_delta':
        return [chunk({ content: delta.text })];
      case 'thinking_delta':
        thought += String(delta.thinking ?? '');
        return [chunk({ reasoning_content: delta.thinking })];
      case 'signature_delta': {
        const block = { type: 'thinking', thinking: thought, signature: delta.signature };
        thought = '';
        return [chunk({ thinking_blocks: [block] })];
      }
      case 'input_json_delta': {
        const call = calls.get(index);
        if (!call || delta.partial_json === '') return [];
        call.hasPieces = true;
        return [argumentsOf(call, delta.partial_json)];
      }
      default:
        return [];
    }
  }

  /** Clients parse the arguments as JSON, and an empty text is none. */
  function stop(index: unknown): string[] {
    const call = calls.get(index);
    return call && !call.hasPieces ? [argumentsOf(call, JSON.stringify(call.input))] : [];
  }

  return (event) => {
    const message = isObject(event.message) ? event.message : {};
    const reported = message.usage ?? event.usage;
    if (reported !== undefined) usage = addUsage(usage, reported);
    switch (event.type) {
      case 'message_start':
        identity.id = message.id;
        identity.model = message.model ?? model;
        return [chunk({ role: 'assistant', content: '', refusal: null })];
      case 'content_block_start':
        return isObject(event.content_block) ? start(event.index, event.content_block) : [];
      case 'content_block_delta':
        return isObject(event.delta) ? add(event.index, event.delta) : [];
      case 'content_block_stop':
        return stop(event.index);
      case 'message_delta':
        return [chunk({}, finishReason(isObject(event.delta) ? event.delta.stop_reason : undefined))];
      case 'message_stop': {
        const last = JSON.stringify({ ...identity, choices: [], usage: chatUsage(usage) });
        return wantsUsage ? [last, '[DONE]'] : ['[DONE]'];
      }
      case 'error':
        return [JSON.stringify({ error: chatErrorFields(event.error) })];
      default:
        return [];
    }
  };
}
