import { badRequest, GwError } from '../../errors.ts';
import { type Edit, insertMember, removeMember, replaceValue } from '../../json/edit.ts';
import { JsonSyntaxError, type Member, readValue, scanObject } from '../../json/scan.ts';
import { readServiceObject } from '../service-options.ts';
import { answerText, endAtLimit, inspectChatEvents, promptText, usageMember } from './chat-answer.ts';
import type { Wire, WireRequest } from './wire.ts';

/** The fields that gw reads. A field that stands twice could mean one thing here and another at the provider. */
const READ = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'temperature',
  'service',
]);

const MAX_CHOICES = 128;
const MAX_OUTPUT_TOKENS = 100_000_000;

/** OpenAI's chat completions: https://platform.openai.com/docs/api-reference/chat/create */
export const chatWire: Wire = {
  endpoint: 'chat/completions',
  path: '/chat/completions',
  parse,
  renameModel: ({ members }, model) => replaceValue(required(members, 'model'), JSON.stringify(model)),
  limitOutput,
  usageOf: usageMember,
  inspect: inspectChatEvents,
  endAtLimit,
  textOf: answerText,
  promptOf: promptText,
  messagesOf: ({ members }) => members.find(({ key }) => key === 'messages'),
};

function parse(bytes: Buffer): WireRequest {
  const members = scan(bytes);
  const fields = fieldsOf(bytes, members);
  const model = fields.read('model');
  if (model === undefined)
    throw badRequest(
      '"model" is missing: say which model is to answer',
      'model',
      'missing_required_parameter',
    );
  if (typeof model !== 'string' || model === '' || model.length > 500) {
    throw badRequest('"model" must be the name of a model', 'model', 'invalid_type');
  }
  checkMessages(bytes, fields.find('messages'));
  const temperature = fields.read('temperature');
  if (temperature !== undefined && typeof temperature !== 'number') {
    throw badRequest('"temperature" must be a number', 'temperature', 'invalid_type');
  }
  const stream = fields.boolean('stream') ?? false;
  const usage = stream ? askForUsage(bytes, members, fields) : { wantsUsage: false, edits: [] };
  const service = fields.find('service');
  const limit = largest(
    fields.integer('max_tokens', 1, MAX_OUTPUT_TOKENS),
    fields.integer('max_completion_tokens', 1, MAX_OUTPUT_TOKENS),
  );
  return {
    bytes,
    members,
    model,
    stream,
    options: readServiceObject(fields.read('service')),
    ...(limit === undefined ? {} : { maxOutputTokens: limit }),
    choices: fields.integer('n', 1, MAX_CHOICES) ?? 1,
    wantsUsage: usage.wantsUsage,
    edits: service ? [removeMember(members, service), ...usage.edits] : usage.edits,
  };
}

function scan(bytes: Buffer): Member[] {
  try {
    return scanObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new GwError(`the body is not a JSON object: ${error.message}`, {
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_json',
      cause: error,
    });
  }
}

/** Typed access to the fields that gw reads. `null` counts as absent, as it does for OpenAI. */
function fieldsOf(bytes: Buffer, members: Member[]) {
  const found = new Map<string, Member>();
  for (const member of members) {
    if (!READ.has(member.key)) continue;
    if (found.has(member.key)) {
      throw badRequest(`"${member.key}" stands twice in the body`, member.key, 'duplicate_parameter');
    }
    found.set(member.key, member);
  }
  const read = (key: string): unknown => {
    const member = found.get(key);
    if (!member) return undefined;
    try {
      return readValue(bytes, member) ?? undefined;
    } catch {
      throw badRequest(`"${key}" is not valid JSON`, key, 'invalid_json');
    }
  };
  return {
    find: (key: string) => found.get(key),
    read,
    boolean(key: string): boolean | undefined {
      const value = read(key);
      if (value === undefined || typeof value === 'boolean') return value;
      throw badRequest(`"${key}" must be true or false`, key, 'invalid_type');
    },
    integer(key: string, min: number, max: number): number | undefined {
      const value = read(key);
      if (value === undefined) return undefined;
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
      throw badRequest(`"${key}" must be a whole number from ${min} to ${max}`, key, 'invalid_type');
    },
  };
}

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** An array that is not empty. What is in the messages is the provider's to judge. */
function checkMessages(bytes: Buffer, member: Member | undefined): void {
  if (!member) {
    throw badRequest(
      '"messages" is missing: the conversation to answer',
      'messages',
      'missing_required_parameter',
    );
  }
  if (bytes[member.start] !== OPEN_BRACKET)
    throw badRequest('"messages" must be an array', 'messages', 'invalid_type');
  const isEmpty = bytes
    .toString('latin1', member.start + 1, Math.min(member.end, member.start + 64))
    .trimStart();
  if (isEmpty.charCodeAt(0) === CLOSE_BRACKET) {
    throw badRequest('"messages" is empty: there is nothing to answer', 'messages', 'empty_array');
  }
}

type Fields = ReturnType<typeof fieldsOf>;

/** Usage is always asked for upstream; the client sees it only if it asked itself. */
function askForUsage(
  bytes: Buffer,
  members: Member[],
  fields: Fields,
): { wantsUsage: boolean; edits: Edit[] } {
  const member = fields.find('stream_options');
  const value = fields.read('stream_options');
  if (!member)
    return { wantsUsage: false, edits: [insertMember(members, 'stream_options', '{"include_usage":true}')] };
  if (value === undefined)
    return { wantsUsage: false, edits: [replaceValue(member, '{"include_usage":true}')] };
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw badRequest('"stream_options" must be an object', 'stream_options', 'invalid_type');
  }
  const asked = (value as { include_usage?: unknown }).include_usage ?? false;
  if (typeof asked !== 'boolean') {
    const name = 'stream_options.include_usage';
    throw badRequest(`"${name}" must be true or false`, name, 'invalid_type');
  }
  const inner = scanObject(bytes.subarray(member.start, member.end));
  const own = inner.filter(({ key }) => key === 'include_usage');
  const text = own.length > 0 ? 'true' : inner.length > 0 ? '"include_usage":true,' : '"include_usage":true';
  // One that stands twice means the same in both places, whichever the provider takes.
  const places = own.length > 0 ? own : [{ start: 1, end: 1 }];
  const edits = places.map(({ start, end }) => ({
    start: member.start + start,
    end: member.start + end,
    text,
  }));
  return { wantsUsage: asked, edits: asked && own.length === 1 ? [] : edits };
}

function limitOutput(
  request: WireRequest,
  tokens: number,
  field: 'max_tokens' | 'max_completion_tokens',
): Edit[] {
  const written = request.members.filter(
    ({ key }) => key === 'max_tokens' || key === 'max_completion_tokens',
  );
  if (written.length > 0) return written.map((member) => replaceValue(member, String(tokens)));
  return [insertMember(request.members, field, String(tokens))];
}

function required(members: Member[], key: string): Member {
  const member = members.find((candidate) => candidate.key === key);
  if (!member) throw new Error(`the ${key} member is gone`);
  return member;
}

function largest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.max(a, b);
}
