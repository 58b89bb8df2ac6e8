import type { Json } from '../json.ts';
import { asText } from '../json.ts';
import { packReasoning, sealCalls } from '../own-reasoning-mark.ts';
import { REASONING_TEXT } from './reasoning.ts';
import type { ResponseOptions } from './response.ts';
import { customInput } from './tool-names.ts';

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

export function reasoningItem(id: string, text: string, signed: readonly Json[]): Json {
  const summary = text === '' ? [] : [{ type: 'summary_text', text }];
  // Clients send it back: Anthropic's as its blocks, any other's as its text.
  const blocks = signed.length > 0 || text === '' ? signed : [{ type: REASONING_TEXT, text }];
  const encrypted = blocks.length > 0 ? { encrypted_content: packReasoning(blocks) } : {};
  return { id, type: 'reasoning', summary, ...encrypted };
}

/** A reasoning item with what only the provider of some calls can read; undefined if there is nothing of the kind. */
export function sealItem(id: string, calls: readonly Json[]): Json | undefined {
  const encrypted_content = sealCalls(calls);
  return encrypted_content === undefined
    ? undefined
    : { id, type: 'reasoning', summary: [], encrypted_content };
}

/** A tool call whose arguments may be incomplete. */
export interface Call {
  id: string;
  callId: string;
  /** The tool's name in the chat completion. */
  name: string;
  args: string;
}

export function newCall(callId: unknown, name: unknown, { newId, tools }: ResponseOptions): Call {
  const toolName = asText(name);
  // The result must refer to its call, but some providers send no call id.
  const resultId = typeof callId === 'string' && callId !== '' ? callId : newId('call');
  return {
    id: newId(tools.get(toolName)?.isCustom ? 'ctc' : 'fc'),
    callId: resultId,
    name: toolName,
    args: '',
  };
}

export function isCustom({ name }: Call, { tools }: ResponseOptions): boolean {
  return tools.get(name)?.isCustom === true;
}

export function callItem(call: Call, status: ItemStatus, { tools }: ResponseOptions): Json {
  const { id, callId, args } = call;
  const tool = tools.get(call.name);
  const fields = {
    call_id: callId,
    name: tool?.name ?? call.name,
    ...(tool?.namespace === undefined ? {} : { namespace: tool.namespace }),
  };
  if (tool?.isCustom) {
    return { id, type: 'custom_tool_call', ...fields, input: args === '' ? '' : customInput(args) };
  }
  return { id, type: 'function_call', status, ...fields, arguments: args };
}
