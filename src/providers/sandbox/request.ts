import { z } from 'zod';
import { badRequest, type GwError, messageOf } from '../../errors.ts';

const ROLES = ['developer', 'system', 'user', 'assistant', 'tool', 'function'] as const;

const part = z.looseObject({ type: z.string(), text: z.string().optional() });

const message = z
  .looseObject({
    role: z.enum(ROLES),
    content: z.union([z.string(), z.array(part)]).nullish(),
    name: z.string().nullish(),
    tool_calls: z.array(z.looseObject({ id: z.string(), type: z.string() })).nullish(),
    tool_call_id: z.string().nullish(),
  })
  .superRefine(({ role, content, tool_call_id }, context) => {
    // Only an assistant message may be empty, because it may contain tool calls instead.
    if (content == null && role !== 'assistant') missing(context, 'content');
    if (tool_call_id == null && role === 'tool') missing(context, 'tool_call_id');
  });

const tool = z
  .looseObject({
    type: z.string(),
    function: z.looseObject({ name: z.string(), parameters: z.looseObject({}).nullish() }).optional(),
  })
  .superRefine((value, context) => {
    if (value.type === 'function' && !value.function) missing(context, 'function');
  });

const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  n: z.int().min(1).max(128).nullish(),
  seed: z.int().nullish(),
  user: z.string().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  response_format: z
    .looseObject({
      type: z.enum(['text', 'json_object', 'json_schema']),
      json_schema: z.looseObject({ name: z.string(), schema: z.looseObject({}).nullish() }).optional(),
    })
    .nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.string(), function: z.looseObject({ name: z.string() }).optional() }),
    ])
    .nullish(),
});

export type ChatRequest = z.infer<typeof chatRequest>;
export type Message = ChatRequest['messages'][number];

function missing(context: z.RefinementCtx, field: string): void {
  context.addIssue({ code: 'invalid_type', expected: 'string', path: [field], input: undefined });
}

/** Parses the body of a chat completion request. Throws OpenAI's status, code and `param`. */
export const parseChatRequest = (body: Buffer): ChatRequest => readChatRequest(parseJson(body));

export function readChatRequest(value: unknown): ChatRequest {
  const request = check(chatRequest, value);
  const { stream, stream_options, tools, tool_choice } = request;
  if (stream_options && !stream) throw badRequest("'stream_options' needs 'stream': true.", 'stream_options');
  if (tool_choice && tool_choice !== 'none' && !tools?.length)
    throw badRequest("'tool_choice' needs 'tools'.", 'tool_choice');
  return request;
}

/** Parses a body by any schema. Throws the same errors as parseChatRequest(). */
export const parseBody = <T>(schema: z.ZodType<T>, body: Buffer): T => check(schema, parseJson(body));

function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw refusal(result.error);
  return result.data;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (cause) {
    throw badRequest(`The body is not JSON: ${messageOf(cause)}.`, undefined, 'invalid_json');
  }
}

function refusal({ issues }: z.ZodError): GwError {
  const { path, input, code, message } = innermost(issues[0] as z.core.$ZodIssue); // An error has at least one issue.
  const reason = message.replaceAll(/[A-Z][a-z ]+: /g, '');
  const param = path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .slice(1);
  if (param === '') return badRequest(`The body is no JSON object: ${reason}.`, undefined, 'invalid_type');
  if (input === undefined) return badRequest(`'${param}' is missing.`, param, 'missing_required_parameter');
  const kind = code === 'invalid_type' ? 'invalid_type' : 'invalid_value';
  return badRequest(`'${param}' has a bad value: ${reason}.`, param, kind);
}

/** The most specific issue of a union: inside the matching alternative, or that no alternative matches. */
function innermost(
  issue: z.core.$ZodIssue,
): Pick<z.core.$ZodIssue, 'path' | 'input' | 'message'> & { code: string } {
  if (issue.code !== 'invalid_union') return issue;
  const firsts = issue.errors.flatMap((errors) => errors.slice(0, 1));
  const within = firsts.find((first) => first.path.length > 0 || first.code !== 'invalid_type');
  if (within) return { ...within, path: [...issue.path, ...within.path] };
  const { path, input } = issue;
  return { path, input, code: 'invalid_type', message: firsts.map((first) => first.message).join(' or ') };
}
