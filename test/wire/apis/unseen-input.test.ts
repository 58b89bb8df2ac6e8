import { describe, expect, test } from 'vitest';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { completionsWire } from '../../../src/wire/apis/completions.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../../src/wire/apis/responses.ts';
import type { Wire } from '../../../src/wire/wire.ts';

/*
 * The members of the published unions, as of OpenAI's API 2.3.0 and Anthropic's of 2023-06-01. `seen` has all of its
 * content in the request; `unseen` has, or may have, an id or an address of it.
 */
type Cases = Record<string, { seen?: object[]; unseen?: object[] }>;

const TEXT = { type: 'input_text', text: 'Hi' };
const SCHEMA = { type: 'object', properties: { file_id: { type: 'string' }, url: { type: 'string' } } };
const PNG = 'data:image/png;base64,AAAA';

const unseenIn = (wire: Wire, body: object) =>
  wire.unseenIn(wire.parse(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 64, ...body }))));

/** Values that no discriminator has. */
const NO_TYPES = [
  null,
  5,
  true,
  [],
  {},
  ['message'],
  { type: 'message' },
  '',
  'Message',
  'message ',
  'mystery',
];

function holds(cases: Cases, wire: Wire, bodyOf: (value: object) => object): void {
  for (const [name, { seen = [], unseen = [] }] of Object.entries(cases)) {
    for (const value of seen)
      expect([name, value, unseenIn(wire, bodyOf(value))]).toEqual([name, value, undefined]);
    for (const value of unseen)
      expect([name, value, unseenIn(wire, bodyOf(value))]).not.toEqual([name, value, undefined]);
  }
}

/** A known object stays known with a scalar more, and not with an id, an address or an object of an unknown name. */
function holdsWithMore(known: object[], wire: Wire, bodyOf: (value: object) => object): void {
  for (const value of known) {
    expect([value, unseenIn(wire, bodyOf({ ...value, hidden: true, size: 5, other: null }))]).toEqual([
      value,
      undefined,
    ]);
    for (const more of [
      { file: 'file_1' },
      { files: ['file_1'] },
      { ref: { id: 'file_1' } },
      { vector_store_ids: ['vs_1'] },
      { 'fi\u0001le_id': 'file_1' },
    ]) {
      expect([value, more, unseenIn(wire, bodyOf({ ...value, ...more }))]).not.toEqual([
        value,
        more,
        undefined,
      ]);
    }
  }
}

const seenOf = (cases: Cases): object[] => Object.values(cases).flatMap(({ seen = [] }) => seen);

const ITEMS: Cases = {
  EasyInputMessage: {
    seen: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }], phase: 'final_answer' },
      { type: null, role: 'user', content: 'Hi' },
      {
        type: 'message',
        role: 'user',
        content: [TEXT, { type: 'input_image', image_url: PNG, detail: 'low' }],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] },
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] },
    ],
    unseen: [
      { type: 'message', role: 'user' },
      { role: 'user', id: 'msg_1' },
      { role: 'user', content: null },
      { role: 'user', content: { id: 'msg_1' } },
      { role: 'user', content: 5 },
      { role: 'tool', content: 'Hi' },
      { role: null, content: 'Hi' },
      { role: { name: 'user' }, content: 'Hi' },
    ],
  },
  InputMessage: { seen: [{ type: 'message', role: 'system', status: 'completed', content: [TEXT] }] },
  OutputMessage: {
    seen: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [
          {
            type: 'output_text',
            text: 'Hi',
            annotations: [{ type: 'file_citation', file_id: 'f' }],
            logprobs: [],
          },
          { type: 'refusal', refusal: 'No' },
        ],
      },
    ],
  },
  FileSearchToolCall: {
    unseen: [{ id: 'fs_1', type: 'file_search_call', status: 'completed', queries: ['a'], results: null }],
  },
  ComputerToolCall: {
    seen: [
      {
        type: 'computer_call',
        id: 'cu_1',
        call_id: 'c',
        action: { type: 'click', x: 1, y: 1, button: 'left' },
        pending_safety_checks: [],
        status: 'completed',
      },
    ],
  },
  ComputerCallOutputItemParam: {
    seen: [
      { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: PNG } },
    ],
    unseen: [
      { type: 'computer_call_output', call_id: 'c', output: { type: 'recording', file_id: 'file_1' } },
    ],
  },
  WebSearchToolCall: {
    unseen: [
      { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'a' } },
    ],
  },
  FunctionToolCall: {
    seen: [{ type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{"file_id":"a"}' }],
  },
  FunctionCallOutputItemParam: {
    seen: [
      { type: 'function_call_output', call_id: 'c', output: 'done' },
      { type: 'function_call_output', call_id: 'c', output: [TEXT, { type: 'input_image', image_url: PNG }] },
    ],
    unseen: [
      { type: 'function_call_output', call_id: 'c' },
      { type: 'function_call_output', call_id: 'c', output: { file_id: 'file_1' } },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: 'file_1' }] },
    ],
  },
  ToolSearchCallItemParam: {
    seen: [{ type: 'tool_search_call', arguments: { query: 'a' }, execution: 'client' }],
  },
  ToolSearchOutputItemParam: {
    seen: [
      {
        type: 'tool_search_output',
        tools: [{ type: 'function', name: 'f', parameters: SCHEMA, strict: true }],
      },
    ],
    unseen: [{ type: 'tool_search_output', tools: [{ type: 'mcp', server_label: 'a' }] }],
  },
  AdditionalToolsItemParam: {
    seen: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'f' }] }],
    unseen: [
      {
        type: 'additional_tools',
        role: 'developer',
        tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
      },
    ],
  },
  ReasoningItem: {
    seen: [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
    ],
    unseen: [
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: '' },
    ],
  },
  CompactionSummaryItemParam: { unseen: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }] },
  ImageGenToolCall: {
    seen: [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' }],
  },
  CodeInterpreterToolCall: {
    unseen: [
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        status: 'completed',
        container_id: 'cntr_1',
        code: '1',
        outputs: [],
      },
    ],
  },
  LocalShellToolCall: {
    seen: [
      {
        type: 'local_shell_call',
        id: 'l',
        call_id: 'c',
        action: { type: 'exec', command: ['ls'], env: {} },
        status: 'completed',
      },
    ],
  },
  LocalShellToolCallOutput: {
    seen: [{ type: 'local_shell_call_output', id: 'l', call_id: 'c', output: 'a' }],
  },
  FunctionShellCallItemParam: {
    seen: [{ type: 'shell_call', call_id: 'c', action: { commands: ['ls'] }, environment: null }],
    unseen: [
      {
        type: 'shell_call',
        call_id: 'c',
        action: { commands: ['ls'] },
        environment: { type: 'container_reference', container_id: 'cntr_1' },
      },
    ],
  },
  FunctionShellCallOutputItemParam: {
    seen: [
      {
        type: 'shell_call_output',
        call_id: 'c',
        max_output_length: 9,
        output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
    unseen: [{ type: 'shell_call_output', call_id: 'c', output: [{ stdout: { file_id: 'file_1' } }] }],
  },
  ApplyPatchToolCallItemParam: {
    seen: [
      {
        type: 'apply_patch_call',
        call_id: 'c',
        status: 'completed',
        operation: { type: 'update_file', path: 'a', diff: '+' },
      },
    ],
  },
  ApplyPatchToolCallOutputItemParam: {
    seen: [{ type: 'apply_patch_call_output', call_id: 'c', status: 'completed', output: 'ok' }],
  },
  MCPListTools: { unseen: [{ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'a', tools: [] }] },
  MCPApprovalRequest: {
    unseen: [{ type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'a', name: 'f', arguments: '{}' }],
  },
  MCPApprovalResponse: {
    unseen: [{ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }],
  },
  MCPToolCall: { unseen: [{ type: 'mcp_call', id: 'mcp_1', server_label: 'a', name: 'f', arguments: '{}' }] },
  CustomToolCallOutput: { seen: [{ type: 'custom_tool_call_output', call_id: 'c', output: 'done' }] },
  CustomToolCall: {
    seen: [{ type: 'custom_tool_call', id: 'ct_1', call_id: 'c', name: 'f', input: '*** Begin' }],
  },
  CompactionTriggerItemParam: { unseen: [{ type: 'compaction_trigger' }] },
  ItemReferenceParam: {
    unseen: [
      { type: 'item_reference', id: 'msg_1' },
      { id: 'msg_1' },
      { type: null, id: 'msg_1' },
      { type: undefined, id: 'rs_1', role: null },
      ...NO_TYPES.map((type) => ({ type, id: 'msg_1' })),
    ],
  },
  ProgramItemParam: { unseen: [{ type: 'program', id: 'p', call_id: 'c', code: '1', fingerprint: 'f' }] },
  ProgramOutputItemParam: {
    unseen: [{ type: 'program_output', id: 'p', call_id: 'c', result: 'a', status: 'completed' }],
  },
};

const CONTENTS: Cases = {
  InputFileContent: {
    unseen: [
      { type: 'input_file', file_id: 'file_1' },
      { type: 'input_file', file_url: 'https://a.example/b.pdf' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    ],
  },
  InputTextContent: {
    seen: [TEXT],
    unseen: [
      { type: 'input_text', text: { file_id: 'file_1' } },
      { type: 'input_text', text: ['file_1'] },
      { type: 'input_text', file_id: 'file_1' },
      ...NO_TYPES.map((type) => ({ type, text: 'Hi' })),
      { text: 'Hi' },
    ],
  },
  InputAudio: {
    unseen: [
      { type: 'input_audio', input_audio: { data: 'https://a.example/b.wav', format: 'wav' } },
      { type: 'input_audio', input_audio: { id: 'audio_1' } },
      { type: 'input_audio' },
    ],
  },
};

const TOOLS: Cases = {
  FunctionTool: {
    seen: [
      {
        type: 'function',
        name: 'f',
        description: 'd',
        parameters: SCHEMA,
        strict: true,
        defer_loading: true,
      },
    ],
  },
  CustomToolParam: { seen: [{ type: 'custom', name: 'f', format: { type: 'grammar', definition: 'a' } }] },
  ComputerTool: { seen: [{ type: 'computer' }] },
  ComputerUsePreviewTool: {
    seen: [{ type: 'computer_use_preview', environment: 'linux', display_width: 1, display_height: 1 }],
  },
  LocalShellToolParam: { seen: [{ type: 'local_shell' }] },
  NamespaceToolParam: {
    seen: [
      {
        type: 'namespace',
        name: 'n',
        description: 'd',
        tools: [{ type: 'function', name: 'f', parameters: SCHEMA }],
      },
    ],
    unseen: [
      {
        type: 'namespace',
        name: 'n',
        description: 'd',
        tools: [{ type: 'mcp', connector_id: 'connector_a' }],
      },
    ],
  },
  ToolSearchToolParam: {
    seen: [{ type: 'tool_search', execution: 'client', description: 'd', parameters: SCHEMA }],
  },
  ApplyPatchToolParam: { seen: [{ type: 'apply_patch' }] },
  ServerTools: {
    unseen: [
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'mcp', server_label: 'a', server_url: 'https://a.example' },
      { type: 'mcp', server_label: 'a', connector_id: 'connector_dropbox' },
      { type: 'code_interpreter', container: 'cntr_1' },
      { type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'] } },
      { type: 'programmatic_tool_calling' },
      { type: 'image_generation', input_image_mask: { file_id: 'file_1' } },
      { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } },
      ...NO_TYPES.map((type) => ({ type, name: 'f', parameters: {} })),
      { name: 'f', parameters: {} },
      { vector_store_ids: ['vs_1'] },
    ],
  },
};

/** What they find is held by the rounds of their calls. */
const SEARCHES: Cases = {
  WebSearch: {
    seen: [
      { type: 'web_search', external_web_access: false },
      {
        type: 'web_search_2025_08_26',
        search_context_size: 'high',
        filters: { allowed_domains: ['a.example'] },
      },
      { type: 'web_search_preview', user_location: { type: 'approximate', city: 'Bern' } },
      { type: 'web_search_preview_2025_03_11' },
    ],
    unseen: [
      { type: 'web_search_pro' },
      { type: 'web_search', connector_id: 'connector_a' },
      { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'web_search' }] },
    ],
  },
};

/** Fields of the request that stand for something which the provider stores or fetches. */
const REFERRING_FIELDS: object[] = [
  { conversation: 'conv_1' },
  { conversation: { id: 'conv_1' } },
  { prompt: { id: 'pmpt_1', variables: { a: 'b' } } },
  { context_management: [{ type: 'compaction', compact_threshold: 1000 }] },
  { container: 'cntr_1' },
  { thread: { id: 'thread_1' } },
  { thread_id: 'thread_1' },
  { assistant_id: 'asst_1' },
  { file_ids: ['file_1'] },
  { vector_store_ids: ['vs_1'] },
  { cached_content: 'cachedContents/1' },
  { data_sources: [{ type: 'azure_search' }] },
  { documents: [{ id: 'doc_1' }] },
  { connectors: [{ id: 'web-search' }] },
  { extra_body: { google: { cached_content: 'a' } } },
];

describe('the closed list of responses', () => {
  const withItem = (item: object) => ({ input: [{ role: 'user', content: 'Hi' }, item] });
  const withPart = (part: object) => ({ input: [{ role: 'user', content: [TEXT, part] }] });
  const withTool = (tool: object) => ({ input: 'Hi', tools: [tool] });

  test.each([responsesWire, compactWire])('has every item, content part and tool of $endpoint', (wire) => {
    holds(ITEMS, wire, withItem);
    holds(CONTENTS, wire, withPart);
    holds(TOOLS, wire, withTool);
    holds(SEARCHES, wire, withTool);
  });

  test('takes no unknown member of them', () => {
    holdsWithMore(seenOf(SEARCHES), responsesWire, withTool);
    holdsWithMore(seenOf(ITEMS), responsesWire, withItem);
    holdsWithMore([TEXT], responsesWire, withPart);
    holdsWithMore(seenOf(TOOLS), responsesWire, withTool);
  });

  test('takes no input and instructions of another kind', () => {
    for (const body of [{ input: { id: 'msg_1' } }, { input: ['msg_1'] }, { input: [null] }, { input: 5 }])
      expect([body, unseenIn(responsesWire, body)]).not.toEqual([body, undefined]);
    expect(unseenIn(responsesWire, { input: 'Hi', instructions: { id: 'pmpt_1' } })).toBeDefined();
    expect(unseenIn(responsesWire, { input: 'Hi', instructions: null, tools: null })).toBeUndefined();
  });

  test('takes no field that refers to something', () => {
    for (const field of REFERRING_FIELDS)
      expect([field, unseenIn(responsesWire, { input: 'Hi', ...field })]).not.toEqual([field, undefined]);
  });
});

const CHAT_MESSAGES: Cases = {
  known: {
    seen: [
      { role: 'system', content: 'Hi', name: 'a' },
      { role: 'developer', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'user', content: null },
      {
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'No' }],
        refusal: null,
        annotations: [],
        audio: null,
      },
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"file_id":"a"}' } }],
      },
      {
        role: 'assistant',
        content: null,
        function_call: { name: 'f', arguments: '{}' },
        reasoning_content: 'Hm',
      },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      { role: 'function', name: 'f', content: 'done' },
    ],
    unseen: [
      { role: 'assistant', audio: { id: 'audio_1' } },
      { role: 'user', content: { file_id: 'file_1' } },
      { role: 'file', content: 'file_1' },
      { role: 'user', content: ['file_1'] },
      { content: 'Hi' },
      { role: null, content: 'Hi' },
      { id: 'msg_1' },
      { role: 'user', id: 'msg_1' },
    ],
  },
};

const CHAT_PARTS: Cases = {
  known: {
    seen: [
      { type: 'text', text: 'Hi' },
      { type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'high' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ],
    unseen: [
      { type: 'file', file: { file_id: 'file_1' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'video_url', video_url: { url: 'https://a.example' } },
      { type: 'document', document: { id: 'doc_1' } },
      { type: 'input_audio', input_audio: { data: ' HTTPS://a.example/b.wav' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', file_id: 'file_1' } },
      { type: 'text', text: { file_id: 'file_1' } },
      { text: 'Hi' },
      ...NO_TYPES.map((type) => ({ type, text: 'Hi' })),
    ],
  },
};

describe('the closed list of chat completions', () => {
  const withMessage = (message: object) => ({ messages: [message] });
  const withPart = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });
  const withTool = (tool: object) => ({ messages: [{ role: 'user', content: 'Hi' }], tools: [tool] });
  const TOOL = { type: 'function', function: { name: 'f', parameters: SCHEMA } };

  test.each([chatWire, completionsWire])('has every message, content part and tool of $endpoint', (wire) => {
    holds(CHAT_MESSAGES, wire, withMessage);
    holds(CHAT_PARTS, wire, withPart);
    holds({ ...TOOLS, nested: { seen: [TOOL] } }, wire, withTool);
  });

  test('takes no unknown member of them', () => {
    holdsWithMore(seenOf(CHAT_MESSAGES), chatWire, withMessage);
    holdsWithMore(seenOf(CHAT_PARTS), chatWire, withPart);
    holdsWithMore([TOOL], chatWire, withTool);
  });

  test('takes no field that refers to something', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    for (const field of REFERRING_FIELDS)
      expect([field, unseenIn(chatWire, { messages, ...field })]).not.toEqual([field, undefined]);
  });

  test('has the fields of common clients', () => {
    const fields = {
      stop: ['a'],
      logit_bias: { 5: 1 },
      response_format: { type: 'json_schema', json_schema: { schema: SCHEMA } },
      stream_options: { include_usage: true },
      metadata: { a: 'b' },
      provider: { order: ['a'] },
      usage: { include: true },
      chat_template_kwargs: { thinking: true },
      parallel_tool_calls: false,
      enable_thinking: true,
    };
    expect(unseenIn(chatWire, { messages: [{ role: 'user', content: 'Hi' }], ...fields })).toBeUndefined();
  });
});

const BLOCKS: Cases = {
  known: {
    seen: [
      { type: 'text', text: 'Hi', citations: [], cache_control: { type: 'ephemeral' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      { type: 'thinking', thinking: 'Hm', signature: 's' },
      { type: 'redacted_thinking', data: 's' },
      { type: 'tool_use', id: 'a', name: 'f', input: { file_id: 'a' } },
      { type: 'server_tool_use', id: 'a', name: 'code_execution', input: {} },
      { type: 'code_execution_tool_result', tool_use_id: 'a', content: {} },
      { type: 'bash_code_execution_tool_result', tool_use_id: 'a', content: { stdout: 'a' } },
      { type: 'text_editor_code_execution_tool_result', tool_use_id: 'a', content: {} },
      { type: 'tool_result', tool_use_id: 'a', content: 'done', is_error: false },
      { type: 'tool_result', tool_use_id: 'a' },
      { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'done' }] },
      {
        type: 'search_result',
        source: 'https://a.example',
        title: 'b',
        content: [{ type: 'text', text: 'c' }],
      },
    ],
    unseen: [
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'image' }] } },
      { type: 'container_upload', file_id: 'file_1' },
      { type: 'web_search_tool_result', tool_use_id: 'a', content: [] },
      { type: 'web_fetch_tool_result', tool_use_id: 'a', content: {} },
      { type: 'bash_code_execution_tool_result', tool_use_id: 'a', content: { content: [{ file_id: 'f' }] } },
      { type: 'tool_search_tool_result', tool_use_id: 'a', content: {} },
      { type: 'mcp_tool_use', id: 'a', name: 'f', server_name: 'b', input: {} },
      { type: 'mcp_tool_result', tool_use_id: 'a', content: 'done' },
      { type: 'compaction', content: 'a' },
      { type: 'tool_result', tool_use_id: 'a', content: { file_id: 'file_1' } },
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }],
      },
      { type: 'text', text: { file_id: 'file_1' } },
      { text: 'Hi' },
      { id: 'msg_1' },
      ...NO_TYPES.map((type) => ({ type, text: 'Hi' })),
    ],
  },
};

const MESSAGE_TOOLS: Cases = {
  known: {
    seen: [
      { name: 'f', description: 'd', input_schema: SCHEMA },
      { type: null, name: 'f', input_schema: SCHEMA },
      { type: 'custom', name: 'f', input_schema: SCHEMA, strict: true },
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 5 },
      { type: 'computer_20250124', name: 'computer', display_width_px: 1, display_height_px: 1 },
      { type: 'memory_20250818', name: 'memory' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ],
    unseen: [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'tool_search_tool_regex_20251119', name: 's' },
      { type: 'mcp_toolset', mcp_server_name: 'a' },
      { name: 'f' },
      { type: null, name: 'f' },
      ...NO_TYPES.filter((type) => type !== null).map((type) => ({ type, name: 'f', input_schema: SCHEMA })),
    ],
  },
};

describe("the closed list of Anthropic's messages", () => {
  const withBlock = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });
  const withTool = (tool: object) => ({ messages: [{ role: 'user', content: 'Hi' }], tools: [tool] });

  test('has every content block and tool', () => {
    holds(BLOCKS, messagesWire, withBlock);
    holds(MESSAGE_TOOLS, messagesWire, withTool);
  });

  test('takes no unknown member of them', () => {
    holdsWithMore(seenOf(BLOCKS), messagesWire, withBlock);
    holdsWithMore(seenOf(MESSAGE_TOOLS), messagesWire, withTool);
  });

  test('takes no message or system of another kind', () => {
    for (const message of [
      { role: 'user' },
      { content: 'Hi' },
      { role: 'user', content: null },
      { role: 'user', content: { file_id: 'file_1' } },
      { role: 'user', content: 'Hi', attachments: ['file_1'] },
      { id: 'msg_1' },
    ])
      expect([message, unseenIn(messagesWire, { messages: [message] })]).not.toEqual([message, undefined]);
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(unseenIn(messagesWire, { messages, system: [{ type: 'document' }] })).toBeDefined();
    expect(unseenIn(messagesWire, { messages, system: { id: 'a' } })).toBeDefined();
  });

  test('takes no field that refers to something, and edits of the context', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const mcp = { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] };
    const compact = { context_management: { edits: [{ type: 'compact_20260112' }] } };
    const fields = REFERRING_FIELDS.filter((field) => !('container' in field));
    const odd = { container: { id: 'c', files: ['f'] } };
    for (const field of [...fields, mcp, compact, odd])
      expect([field, unseenIn(messagesWire, { messages, ...field })]).not.toEqual([field, undefined]);
    for (const container of ['c', { id: 'c', skills: [{ type: 'anthropic', skill_id: 'pptx' }] }])
      expect(unseenIn(messagesWire, { messages, container })).toBeUndefined();
    const edits = { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } };
    expect(unseenIn(messagesWire, { messages, ...edits, metadata: { user_id: 'a' } })).toBeUndefined();
  });
});

test('prompts and inputs are texts, token ids and lists of them', () => {
  for (const [wire, field] of [
    [completionsWire, 'prompt'],
    [embeddingsWire, 'input'],
  ] as const) {
    for (const value of ['Hi', ['Hi', 'there'], [1, 2], [[1], [2, 3]]])
      expect([value, unseenIn(wire, { [field]: value })]).toEqual([value, undefined]);
    for (const value of [{ id: 'pmpt_1' }, [{ image: 'https://a.example' }], [['Hi', { id: 'a' }]]])
      expect([value, unseenIn(wire, { [field]: value })]).not.toEqual([value, undefined]);
  }
});
