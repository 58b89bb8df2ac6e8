import { checkList } from './fields.ts';
import { endMessageAtLimit, inspectMessageEvents, messageText } from './messages-answer.ts';
import { promptReader } from './prompt.ts';
import { createParser, renameModel, writeLimit } from './request.ts';
import { countMarks, holdsMark, NOTHING_UNSEEN, type Unseen } from './unseen.ts';
import { usageMember } from './usage-member.ts';
import type { Wire } from './wire.ts';

const LIMITS = ['max_tokens'];

/** Anthropic's messages: https://docs.anthropic.com/en/api/messages */
export const messagesWire: Wire = {
  endpoint: 'messages',
  family: 'anthropic',
  path: '/messages',
  parse: createParser({
    limits: LIMITS,
    reads: ['messages'],
    check: (fields, bytes) => checkList(bytes, fields, 'messages', 'the conversation to answer'),
    unseen: (_fields, bytes) => unseenOf(bytes),
  }),
  renameModel,
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_tokens', tokens),
  usageOf: usageMember,
  inspect: inspectMessageEvents,
  endAtLimit: endMessageAtLimit,
  textOf: messageText,
  messagesOf: ({ members }) => members.find(({ key }) => key === 'messages'),
  promptOf: promptReader({
    read: new Set(['messages', 'system']),
    json: new Set(['tools', 'output_config', 'output_format']),
    stored: new Set(['mcp_servers', 'container']),
    fetching: /"type":\s*"(web_search|web_fetch|code_execution|mcp)_/,
  }),
};

const IMAGE = Buffer.from('"image"');
/** Documents, and tools with which the provider reads in more by itself. */
const CONTEXT = [
  '"document"',
  '"web_search_',
  '"web_fetch_',
  '"code_execution_',
  '"mcp_servers"',
  '"container"',
].map((mark) => Buffer.from(mark));

function unseenOf(bytes: Buffer): Unseen {
  const images = countMarks(bytes, IMAGE);
  const context = holdsMark(bytes, CONTEXT);
  return images === 0 && !context ? NOTHING_UNSEEN : { images, context };
}
