import { isObject } from '../../json/object.ts';
import { count } from '../../pricing/payload-fields.ts';
import type { TokenUsage } from '../../usage.ts';
import { namedEvents, valuesIn } from './events.ts';
import type { LimitEnding } from './inspected-events.ts';

type Json = Record<string, unknown>;
type Event = { type: string; [field: string]: unknown };

/** An unfinished output item, with its content so far. */
interface OpenItem {
  item: Json;
  /** The unfinished part. `name` is the kind of its events, `fields` its position in them. */
  part: { name: string; fields: Json; value: Json } | undefined;
}

/** Ends a response at the output limit: closes open items and marks them and the response as incomplete. */
export function endResponseAtLimit(): LimitEnding {
  let response: Json = {};
  let sequence = 0;
  const open = new Map<number, OpenItem>();
  /** By index. A list would be filled with holes up to any index that a provider sends, and take minutes to iterate. */
  const output = new Map<number, Json>();

  function take(event: Json): void {
    sequence = Math.max(sequence, (count(event.sequence_number) ?? 0) + 1);
    if (isObject(event.response)) response = event.response;
    const index = count(event.output_index) ?? Number.NaN;
    if (event.type === 'response.output_item.added' && isObject(event.item)) {
      open.set(index, { item: structuredClone(event.item), part: undefined });
    } else if (event.type === 'response.output_item.done' && isObject(event.item)) {
      open.delete(index);
      output.set(index, event.item);
    } else {
      const openItem = open.get(index);
      if (openItem) addTo(openItem, event);
    }
  }

  function close([index, { item, part }]: [number, OpenItem]): Event[] {
    const at = { item_id: item.id, output_index: index };
    const done: Event[] = part ? partEvents(part, at) : callEvents(item, at);
    if ('status' in item) item.status = 'incomplete';
    output.set(index, item);
    return [...done, { type: 'response.output_item.done', output_index: index, item }];
  }

  return {
    take(events) {
      for (const event of valuesIn(events)) take(event);
    },
    end(usage) {
      const closing = [...open].flatMap(close);
      const incomplete = {
        ...response,
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [...output].sort(([a], [b]) => a - b).map(([, item]) => item),
        usage: usage ? usageOf(usage) : null,
      };
      const all: Event[] = [...closing, { type: 'response.incomplete', response: incomplete }];
      return namedEvents(all.map((event) => ({ ...event, sequence_number: sequence++ })));
    },
  };
}

/** The field of the open part that a delta extends, by event kind. */
const PART_DELTAS: Record<string, string> = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning_summary_text: 'text',
  reasoning_text: 'text',
};
/** The field of the item that a delta extends, by event kind. */
const CALL_DELTAS: Record<string, string> = {
  function_call_arguments: 'arguments',
  custom_tool_call_input: 'input',
};

function addTo(open: OpenItem, event: Json): void {
  const [, name = '', verb] = /^response\.(.*)\.(\w+)$/.exec(textIn(event.type)) ?? [];
  const { item } = open;
  const isSummary = name.startsWith('reasoning_summary');
  if (verb === 'added' && isObject(event.part)) {
    const list = isSummary ? 'summary' : 'content';
    const fields = isSummary
      ? { summary_index: event.summary_index }
      : { content_index: event.content_index };
    const value: Json = structuredClone(event.part);
    item[list] = [...(Array.isArray(item[list]) ? item[list] : []), value];
    open.part = { name: nameOf(value, isSummary), fields, value };
  } else if (verb === 'done' && name.endsWith('_part')) open.part = undefined;
  else if (verb !== 'delta') return;
  else if (CALL_DELTAS[name]) append(item, CALL_DELTAS[name], event.delta);
  else if (PART_DELTAS[name] && open.part) append(open.part.value, PART_DELTAS[name], event.delta);
}

function append(to: Json, field: string, delta: unknown): void {
  if (typeof delta === 'string') to[field] = textIn(to[field]) + delta;
}

/** The value if it is a string; otherwise empty. `String(value)` throws for an object such as `{"toString": 1}`. */
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

function nameOf({ type }: Json, isSummary: boolean): string {
  return isSummary ? 'reasoning_summary_text' : textIn(type);
}

function partEvents({ name, fields, value }: NonNullable<OpenItem['part']>, at: Json): Event[] {
  const isSummary = name === 'reasoning_summary_text';
  const content = name === 'refusal' ? { refusal: value.refusal } : { text: value.text };
  const logprobs = name === 'output_text' ? { logprobs: [] } : {};
  return [
    { type: `response.${name}.done`, ...at, ...fields, ...content, ...logprobs },
    {
      type: isSummary ? 'response.reasoning_summary_part.done' : 'response.content_part.done',
      ...at,
      ...fields,
      part: value,
    },
  ];
}

function callEvents(item: Json, at: Json): Event[] {
  const { type, name, arguments: args, input } = item;
  if (type === 'function_call')
    return [{ type: 'response.function_call_arguments.done', ...at, name, arguments: args }];
  return type === 'custom_tool_call' ? [{ type: 'response.custom_tool_call_input.done', ...at, input }] : [];
}

function usageOf(usage: TokenUsage): Json {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}
