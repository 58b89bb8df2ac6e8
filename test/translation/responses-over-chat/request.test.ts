import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { createItemMemories } from '../../../src/translation/carry/item-memory.ts';
import { createLeftOut } from '../../../src/translation/left-out.ts';
import { chatForResponses } from '../support/translations.ts';

const memory = createItemMemories()(1);
const OPTIONS = {
  model: 'm',
  outputLimit: 'max_tokens',
  memory,
  isCodex: false,
  leaveOut: () => {},
} as const;
const translate = (request: object) =>
  chatForResponses.request({ model: 'm', input: 'Hi', ...request }, OPTIONS);
/** The translated request, and the fields that were left out. */
function translateNoting(request: object, isCodex = false) {
  const { leaveOut, fields } = createLeftOut();
  const chat = chatForResponses.request(
    { model: 'm', input: 'Hi', ...request },
    { ...OPTIONS, isCodex, leaveOut },
  );
  return { chat, leftOut: fields() };
}
const messages = (...input: object[]) => translate({ input }).messages;
const NO_PARAMETERS = { type: 'object', properties: {} };
const message = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});
const call = (id: string, name: string, args: string, rest: object = {}) => ({
  type: 'function_call',
  id: `fc_${id}`,
  status: 'completed',
  call_id: id,
  name,
  arguments: args,
  ...rest,
});
const refusedField = (request: object): string | null => {
  try {
    translate(request);
  } catch (error) {
    if (error instanceof GwError && error.code === 'unsupported_parameter') return error.param;
    throw error;
  }
  return 'not refused';
};

describe('the input', () => {
  test('a string becomes a user message; instructions and leading developer messages become one system message', () => {
    expect(translate({ instructions: 'Be brief' }).messages).toEqual([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Hi' },
    ]);
    const list = [
      message('developer', 'One'),
      { role: 'system', content: 'Two' },
      { role: 'user', content: 'Hi' },
    ];
    expect(
      translate({ instructions: 'Zero', input: [...list, message('developer', 'Later')] }).messages,
    ).toEqual([
      { role: 'system', content: 'Zero\n\nOne\n\nTwo' },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Later' },
    ]);
  });

  test('text and calls of a turn become one message, each result becomes its own', () => {
    expect(
      messages(
        message('user', 'Hi'),
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'not ours' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'So', annotations: [] }],
        },
        call('a', 'f', '{"x":1}'),
        call('b', 'g', '{}'),
        { type: 'function_call_output', call_id: 'a', output: 'one' },
        {
          type: 'function_call_output',
          call_id: 'b',
          output: [
            { type: 'input_text', text: 'two' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'auto' },
          ],
        },
      ),
    ).toEqual([
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: 'So',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }] },
    ]);
  });

  test('images, files and audio become content parts', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } };
    const content = [
      { type: 'input_text', text: 'See' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
      audio,
    ];
    expect(messages({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
          audio,
        ],
      },
    ]);
  });

  test('an item reference is replaced by the item while gw remembers it', () => {
    memory.remember({
      id: 'msg_9',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'So' }],
    });
    expect(messages(message('user', 'Hi'), { type: 'item_reference', id: 'msg_9' })).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'So' },
    ]);
    expect(refusedField({ input: [{ type: 'item_reference', id: 'msg_0' }] })).toBe('input[0]');
  });
});

describe('tools', () => {
  const f = { type: 'function', name: 'f', description: 'F', parameters: { type: 'object' }, strict: false };

  test('functions, functions of a namespace and custom tools become functions', () => {
    const custom = {
      type: 'custom',
      name: 'patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    };
    const namespace = {
      type: 'namespace',
      name: 'agents',
      description: 'A',
      tools: [{ ...f, strict: true }],
    };
    const { tools, tool_choice } = translate({
      tools: [f, namespace, custom],
      tool_choice: 'auto',
    });
    expect(tool_choice).toBe('auto');
    expect(tools).toEqual([
      { type: 'function', function: { name: 'f', description: 'F', parameters: NO_PARAMETERS } },
      {
        type: 'function',
        function: { name: 'agents__f', description: 'F', parameters: NO_PARAMETERS, strict: true },
      },
      {
        type: 'function',
        function: {
          name: 'patch',
          parameters: {
            type: 'object',
            properties: { input: { type: 'string', description: expect.stringContaining('start: "x"') } },
            required: ['input'],
          },
        },
      },
    ]);
  });

  test.each([
    ['required', 'required'],
    [
      { type: 'function', name: 'f' },
      { type: 'function', function: { name: 'f' } },
    ],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] }, 'required'],
  ])('translates the tool choice %j', (tool_choice, expected) => {
    const request = translate({ tools: [f, { ...f, name: 'g' }], tool_choice, parallel_tool_calls: false });
    expect(request).toMatchObject({ tool_choice: expected, parallel_tool_calls: false });
    expect(request.tools).toHaveLength(typeof tool_choice === 'object' && 'tools' in tool_choice ? 1 : 2);
  });

  test('drops the web search that Codex offers with every request', () => {
    const tools = [f, { type: 'web_search', external_web_access: true }];
    const { chat, leftOut } = translateNoting({ tools }, true);
    expect(chat.tools).toHaveLength(1);
    expect(leftOut).toEqual(['tools[] (web_search)']);
  });

  test('tools in items of the input are sent with the others, as they were listed last', () => {
    const g = { type: 'function', name: 'g', parameters: {} };
    const { chat, leftOut } = translateNoting({
      tools: [f],
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }, g],
        },
        { role: 'user', content: 'Hi' },
        { type: 'additional_tools', role: 'developer', tools: [{ ...g, description: 'later' }] },
      ],
    });
    expect(chat.tools).toMatchObject([
      { function: { name: 'f' } },
      { function: { name: 'functions__exec' } },
      { function: { name: 'g', description: 'later' } },
    ]);
    expect(chat.messages).toEqual([{ role: 'user', content: 'Hi' }]);
    expect(leftOut).toEqual([]);
  });

  test.each([
    [{ type: 'tool_search' }],
    [{ type: 'tool_search', execution: 'client', description: 'd', parameters: { type: 'object' } }],
  ])('deferred tools are sent in full, without the search among them (%o)', (search) => {
    const found = { type: 'function', name: 'found' };
    const { chat, leftOut } = translateNoting({
      tools: [{ ...f, defer_loading: true }, { type: 'custom', name: 'c', defer_loading: false }, search],
      input: [
        { type: 'tool_search_call', call_id: null, arguments: { paths: ['found'] }, execution: 'server' },
        { type: 'tool_search_output', call_id: null, execution: 'server', tools: [found] },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(chat.tools).toMatchObject([
      { function: { name: 'f' } },
      { function: { name: 'c' } },
      { function: { name: 'found' } },
    ]);
    expect(JSON.stringify(chat)).not.toContain('defer_loading');
    expect(chat.messages).toEqual([{ role: 'user', content: 'Hi' }]);
    expect(leftOut).toEqual([
      'input[] (tool_search_call)',
      'input[] (tool_search_output)',
      'tools[].defer_loading',
      'tools[] (tool_search)',
    ]);
  });

  test("Codex's own notes on items are dropped", () => {
    const note = { internal_chat_message_metadata_passthrough: { turn_id: 't' } };
    expect(
      messages(
        { ...message('user', 'Hi'), ...note },
        { type: 'reasoning', summary: [], ...note },
        call('a', 'f', '{}', note),
        { type: 'function_call_output', call_id: 'a', output: 'ok', ...note },
      ),
    ).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }]);
  });

  test('drops the tool choice if there are no tools', () => {
    expect(translate({ tools: [], tool_choice: 'auto', parallel_tool_calls: false })).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
    });
  });

  test('names earlier calls like the tools', () => {
    const custom = { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'x' };
    const [turn] = messages(call('a', 'f', '{}', { namespace: 'agents' }), custom) as object[];
    expect([turn]).toMatchObject([
      {
        tool_calls: [
          { function: { name: 'agents__f' } },
          { function: { name: 'patch', arguments: '{"input":"x"}' } },
        ],
      },
    ]);
  });
});

test('translates limits, formats and efforts, and keeps extensions of a provider', () => {
  const format = { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true };
  expect(
    translate({
      stream: true,
      max_output_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      user: 'u',
      store: true,
      text: { format, verbosity: 'low' },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      truncation: 'disabled',
      background: false,
      service_tier: 'flex',
      top_k: 3,
      previous_response_id: null,
    }),
  ).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 50,
    temperature: 0.5,
    top_p: 0.9,
    user: 'u',
    verbosity: 'low',
    reasoning_effort: 'low',
    service_tier: 'flex',
    top_k: 3,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'a', schema: { type: 'object' }, strict: true },
    },
  });
});

test('refuses a field that a chat completion cannot express', () => {
  expect(refusedField({ previous_response_id: 'resp_1' })).toBe('previous_response_id');
  expect(refusedField({ conversation: 'conv_1' })).toBe('conversation');
  expect(refusedField({ prompt: { id: 'pmpt_1' } })).toBe('prompt');
  expect(refusedField({ truncation: 'auto' })).toBe('truncation');
  expect(refusedField({ top_logprobs: 3 })).toBe('top_logprobs');
  expect(refusedField({ include: ['message.output_text.logprobs'] })).toBe('include[0]');
  expect(refusedField({ tools: [{ type: 'web_search' }] })).toBe('tools[0].type');
  const additional = { type: 'additional_tools', tools: [{ type: 'function', name: 'f' }, { type: 'mcp' }] };
  expect(refusedField({ input: [additional] })).toBe('input[0].tools[1].type');
  expect(refusedField({ tools: [{ type: 'mcp', server_label: 'x' }] })).toBe('tools[0].type');
  expect(
    refusedField({ tools: [{ type: 'function', name: 'f' }], tool_choice: { type: 'file_search' } }),
  ).toBe('tool_choice.type');
  expect(refusedField({ input: [{ type: 'computer_call' }] })).toBe('input[0].type');
  const image = { type: 'input_image', file_id: 'file_1' };
  expect(refusedField({ input: [{ role: 'user', content: [image] }] })).toBe('input[0].content[0].file_id');
  const file = { type: 'input_file', file_url: 'https://example.com/a.pdf' };
  expect(refusedField({ input: [{ role: 'user', content: [file] }] })).toBe('input[0].content[0].file_url');
});
