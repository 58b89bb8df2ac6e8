import { isObject } from '../../json/object.ts';
import { dataIn, namedEvents, parseObject } from '../../wire/answer/events.ts';
import { beginsCall, reasoningOf, textIn } from '../chat-message.ts';
import { EMPTY, type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK } from '../own-reasoning-mark.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';
import { errorAnswer, messageError, messageOf, messageUsage, stopReason } from './answer.ts';

/** Chat completions for a client of Anthropic's messages. */
export function translateForMessages(options: TranslatorOptions): Translator {
  const stream = createStream(options);
  return {
    answer: (body, status) =>
      Buffer.from(JSON.stringify(status >= 400 ? errorAnswer(body, status) : messageOf(body, options))),
    events(events) {
      const out: Event[] = [];
      for (const data of dataIn(events)) {
        const chunk = data === '[DONE]' ? undefined : parseObject(data);
        if (chunk) out.push(...stream.add(chunk));
        else if (data === '[DONE]') out.push(...stream.end());
      }
      return out.length === 0 ? EMPTY : namedEvents(out);
    },
    end() {
      const out = stream.end();
      return out.length === 0 ? EMPTY : namedEvents(out);
    },
  };
}

type Event = { type: string; [field: string]: unknown };

interface Stream {
  add(chunk: Json): Event[];
  /** The last events, once; none for a stream that never said why it stopped. */
  end(): Event[];
}

/**
 * From one chunk to the next. Text and thoughts take turns in blocks of their own; the blocks of tool calls stay open
 * until the end, as the pieces of parallel ones may come mixed.
 */
function createStream({ model }: TranslatorOptions): Stream {
  let begun = false;
  let over = false;
  let blocks = 0;
  let speaking: { kind: 'text' | 'thinking'; index: number } | undefined;
  const calls: { key: unknown; id: unknown; index: number }[] = [];
  let usage: unknown;
  let finish: unknown;

  function begin(chunk: Json): Event[] {
    if (begun) return [];
    begun = true;
    const message = {
      id: chunk.id,
      type: 'message',
      role: 'assistant',
      model: chunk.model ?? model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: messageUsage(undefined),
    };
    return [{ type: 'message_start', message }];
  }

  function hush(): Event[] {
    if (!speaking) return [];
    const { index } = speaking;
    speaking = undefined;
    return [{ type: 'content_block_stop', index }];
  }

  function speak(kind: 'text' | 'thinking', text: unknown): Event[] {
    if (typeof text !== 'string' || text === '') return [];
    const out: Event[] = [];
    if (speaking?.kind !== kind) {
      out.push(...hush());
      speaking = { kind, index: blocks++ };
      const content_block =
        kind === 'text'
          ? { type: kind, text: '' }
          : { type: kind, thinking: '', signature: OWN_REASONING_MARK };
      out.push({ type: 'content_block_start', index: speaking.index, content_block });
    }
    const delta = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };
    return [...out, { type: 'content_block_delta', index: speaking?.index, delta }];
  }

  function call(piece: Json): Event[] {
    const { name, arguments: args } = isObject(piece.function) ? piece.function : {};
    const out: Event[] = [];
    const before = calls.findLast(({ key }) => key === piece.index);
    let index = before?.index;
    if (index === undefined || beginsCall(piece, before?.id)) {
      out.push(...hush());
      index = blocks++;
      calls.push({ key: piece.index, id: piece.id, index });
      const content_block = { type: 'tool_use', id: piece.id, name, input: {} };
      out.push({ type: 'content_block_start', index, content_block });
    }
    if (typeof args !== 'string' || args === '') return out;
    const delta = { type: 'input_json_delta', partial_json: args };
    return [...out, { type: 'content_block_delta', index, delta }];
  }

  return {
    add(chunk) {
      if (chunk.error !== undefined) return [messageError(chunk.error, 500) as Event];
      if (isObject(chunk.usage)) usage = chunk.usage;
      const out = begin(chunk);
      for (const { delta, finish_reason } of objectsIn(chunk.choices)) {
        const said = isObject(delta) ? delta : {};
        out.push(...speak('thinking', reasoningOf(said)));
        out.push(...speak('text', textIn(said.content)), ...speak('text', said.refusal));
        out.push(...objectsIn(said.tool_calls).flatMap(call));
        if (typeof finish_reason === 'string') finish = finish_reason;
      }
      return out;
    },
    end() {
      if (over || finish === undefined) return [];
      over = true;
      return [
        ...hush(),
        ...calls.map(({ index }) => ({ type: 'content_block_stop', index })),
        {
          type: 'message_delta',
          delta: { stop_reason: stopReason(finish), stop_sequence: null },
          usage: messageUsage(usage),
        },
        { type: 'message_stop' },
      ];
    },
  };
}
