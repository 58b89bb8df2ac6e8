import { badRequest } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { MAX_OUTPUT_TOKENS, type SandboxModel } from './model.ts';
import type { ChatRequest } from './request.ts';
import { answerText, quoteUser } from './text.ts';
import { firstTokens } from './tokens.ts';

/** One choice of the sandbox's answer. */
export interface Choice {
  index: number;
  /** The called function; absent if the choice is text. */
  calls?: string;
  /** The content, or the call's arguments. */
  text: string;
  finishReason: 'stop' | 'length' | 'tool_calls';
}

/** The choices of an answer, within the request's limits. The same messages always produce the same choices. */
export function reply(request: ChatRequest, model: SandboxModel): Choice[] {
  const call = toolCall(request);
  return Array.from({ length: request.n ?? 1 }, (_, index) =>
    limit(request, { index, ...(call ?? { text: content(request, model, index), finishReason: 'stop' }) }),
  );
}

/** The tool call that the request forces, if any. */
function toolCall({ tools, tool_choice }: ChatRequest): Omit<Choice, 'index'> | undefined {
  const functions = (tools ?? []).flatMap((tool) => tool.function ?? []);
  const required = tool_choice === 'required';
  const name = typeof tool_choice === 'object' ? tool_choice?.function?.name : undefined;
  if (!required && name === undefined) return undefined;
  const callee = functions.find((candidate) => required || candidate.name === name);
  if (!callee) throw badRequest(`'tools' has no function ${name ?? 'to call'}.`, 'tool_choice');
  const text = JSON.stringify(sampleOf(callee.parameters ?? {}));
  // OpenAI finishes with 'stop' when the request itself names the function.
  return { calls: callee.name, text, finishReason: required ? 'tool_calls' : 'stop' };
}

function content(request: ChatRequest, model: SandboxModel, index: number): string {
  const { messages, response_format } = request;
  switch (response_format?.type) {
    case 'json_object':
      return JSON.stringify({ sandbox: true, you_said: quoteUser(messages) });
    case 'json_schema':
      return JSON.stringify(sampleOf(response_format.json_schema?.schema ?? {}));
    default:
      return stopped(answerText(messages, model.sentences, index), request.stop);
  }
}

/** The text before the first stop sequence. */
function stopped(text: string, stop: ChatRequest['stop']): string {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? []);
  const ends = sequences.filter((sequence) => sequence !== '').map((sequence) => text.indexOf(sequence));
  return text.slice(0, Math.min(text.length, ...ends.filter((end) => end >= 0)));
}

/** Truncates a choice at the request's output limit. */
function limit(request: ChatRequest, choice: Choice): Choice {
  const tokens = request.max_completion_tokens ?? request.max_tokens ?? MAX_OUTPUT_TOKENS;
  const text = firstTokens(choice.text, Math.min(tokens, MAX_OUTPUT_TOKENS));
  return text === choice.text ? choice : { ...choice, text, finishReason: 'length' };
}

type Schema = Record<string, unknown>;

/** Schemas may be recursive. Values beyond this limit are null. */
const MAX_VALUES = 200;

/** A sample value for a JSON schema. Covers simple cases: constants, defaults, required properties. */
export function sampleOf(root: unknown): unknown {
  let left = MAX_VALUES;

  function sample(schema: unknown): unknown {
    if (!isObject(schema) || left-- <= 0) return null;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
    if ('default' in schema) return schema.default;
    if (typeof schema.$ref === 'string') return sample(resolve(root, schema.$ref));
    const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (Array.isArray(alternatives)) return sample(alternatives[0]);
    return sampleOfType(schema);
  }

  function sampleOfType(schema: Schema): unknown {
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    switch (type ?? (schema.properties ? 'object' : 'string')) {
      case 'object':
        return sampleObject(schema);
      case 'array':
        return [sample(schema.items)];
      case 'integer':
      case 'number':
        return typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 1;
      case 'boolean':
        return true;
      case 'string':
        return 'example';
      default:
        return null;
    }
  }

  function sampleObject({ properties, required }: Schema): Schema {
    const schemas = isObject(properties) ? properties : {};
    const names = Array.isArray(required) ? required.map(String) : [];
    return Object.fromEntries(names.map((name) => [name, sample(schemas[name])]));
  }

  return sample(root);
}

/** Follows a reference such as `#/$defs/place` within the schema. */
function resolve(root: unknown, reference: string): unknown {
  let node = root;
  for (const key of reference.split('/').slice(1)) node = isObject(node) ? node[key] : undefined;
  return node;
}
