import { isObject } from '../../../json/object.ts';
import type { AnswerHead, AnswerUsage } from '../../conversation/answer.ts';
import type { AnswerOptions } from '../../conversation/answer-writer.ts';
import type { Seal } from '../../conversation/conversation.ts';
import type { Json } from '../../json.ts';
import { customInput, type NamedTool } from './tool-names.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';
export type PartKind = 'text' | 'refusal';
type Tools = ReadonlyMap<string, NamedTool>;

export function partOf(kind: PartKind, text: string): Json {
  if (kind === 'refusal') return { type: kind, refusal: text };
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function messageItem(id: string, content: Json[], status: ItemStatus): Json {
  return { id, type: 'message', role: 'assistant', status, content };
}

/** Clients send it back: what is sealed in one text, and plain reasoning as that text. */
export function reasoningItem(
  id: string,
  text: string,
  seals: readonly Seal[],
  pack: AnswerOptions['pack'],
): Json {
  const summary = text === '' ? [] : [{ type: 'summary_text', text }];
  const [first] = seals;
  const plain: Seal | undefined = text === '' ? undefined : { kind: 'text', values: [{ text }] };
  // Blocks of one kind that came one after the other.
  const seal = first ? { kind: first.kind, values: seals.flatMap(({ values }) => values) } : plain;
  return { id, type: 'reasoning', summary, ...(seal ? { encrypted_content: pack(seal) } : {}) };
}

/** A tool call whose arguments may be incomplete. */
export interface Call {
  id: string;
  callId: string;
  /** The tool's name in the translated request. */
  name: string;
  args: string;
}

export function newCall(callId: string, name: string, tools: Tools, newId: AnswerOptions['newId']): Call {
  return { id: newId(tools.get(name)?.isCustom ? 'ctc' : 'fc'), callId, name, args: '' };
}

export const isCustom = ({ name }: Call, tools: Tools): boolean => tools.get(name)?.isCustom === true;

export function callItem(call: Call, status: ItemStatus, tools: Tools): Json {
  const { id, callId, args } = call;
  const tool = tools.get(call.name);
  const fields = {
    call_id: callId,
    name: tool?.name ?? call.name,
    ...(tool?.namespace === undefined ? {} : { namespace: tool.namespace }),
  };
  if (tool?.isCustom)
    return { id, type: 'custom_tool_call', ...fields, input: args === '' ? '' : customInput(args) };
  return { id, type: 'function_call', status, ...fields, arguments: args };
}

/** A response without output. */
export function emptyResponse({ created, model }: AnswerHead, options: AnswerOptions): Json {
  const { request } = options;
  return {
    id: options.newId('resp'),
    object: 'response',
    created_at: typeof created === 'number' ? created : Math.floor(options.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model: typeof model === 'string' ? model : options.model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...(isObject(request.reasoning) ? request.reasoning : {}) },
    temperature: request.temperature ?? 1,
    text: request.text ?? { format: { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: 0,
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: request.user ?? null,
    metadata: request.metadata ?? {},
  };
}

export function usageOf(usage: AnswerUsage | undefined): Json | null {
  if (!usage) return null;
  const { input, cached, written, output, reasoning } = usage;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
