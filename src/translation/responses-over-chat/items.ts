import type { Json } from '../json.ts';
import { packThoughts } from './reasoning.ts';
import type { ResponseOptions } from './response.ts';
import { customInput } from './tool-names.ts';

/** The items of a response's output, as they are when they are done. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export function textPart(text: string): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function refusalPart(refusal: string): Json {
  return { type: 'refusal', refusal };
}

export function messageItem(id: string, content: Json[], status: ItemStatus): Json {
  return { id, type: 'message', role: 'assistant', status, content };
}

export function reasoningItem(id: string, thought: string, signed: readonly Json[]): Json {
  const summary = thought === '' ? [] : [{ type: 'summary_text', text: thought }];
  const packed = signed.length > 0 ? { encrypted_content: packThoughts(signed) } : {};
  return { id, type: 'reasoning', summary, ...packed };
}

/** A tool's call as far as it is known: its arguments may still be missing. */
export interface Call {
  id: string;
  callId: string;
  /** As the provider knows it. */
  name: string;
  args: string;
}

export function newCall(callId: unknown, name: unknown, { newId, tools }: ResponseOptions): Call {
  const flat = String(name);
  // Some providers give none, and the result has to name its call.
  const known = typeof callId === 'string' && callId !== '' ? callId : newId('call');
  return { id: newId(tools.get(flat)?.isCustom ? 'ctc' : 'fc'), callId: known, name: flat, args: '' };
}

export function isCustom({ name }: Call, { tools }: ResponseOptions): boolean {
  return tools.get(name)?.isCustom === true;
}

export function callItem(call: Call, status: ItemStatus, { tools }: ResponseOptions): Json {
  const { id, callId, args } = call;
  const tool = tools.get(call.name);
  const named = {
    call_id: callId,
    name: tool?.name ?? call.name,
    ...(tool?.namespace === undefined ? {} : { namespace: tool.namespace }),
  };
  if (tool?.isCustom) {
    return { id, type: 'custom_tool_call', ...named, input: args === '' ? '' : customInput(args) };
  }
  return { id, type: 'function_call', status, ...named, arguments: args };
}
