import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { identifySession } from '../../../src/gateway/intake/identify-session.ts';
import { scanObject } from '../../../src/json/scan.ts';

function sessionOf(headers: Record<string, string>, body: object | string = {}) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return identifySession(headers, { bytes, members: scanObject(bytes) });
}
const UUID = '0b8a3b5e-6f3c-4d53-9f5f-1b1f1f1f1f1f';
const metadata = (user_id: string) => ({ metadata: { user_id } });
const CLAUDE = { 'user-agent': 'claude-cli/2.1.329 (external, cli)' };

describe('identifySession()', () => {
  test.each<[string, Record<string, string>, object, [string, string, string]]>([
    ['Claude Code', { ...CLAUDE, 'x-claude-code-session-id': UUID }, {}, [UUID, 'claude', '2.1.329']],
    [
      'Claude Code without its header',
      CLAUDE,
      metadata(JSON.stringify({ device_id: 'd', account_uuid: '', session_id: UUID })),
      [UUID, 'claude', '2.1.329'],
    ],
    [
      'an old Claude Code',
      { 'user-agent': 'claude-cli/2.0.14 (external, cli)' },
      metadata(`user_abc_account__session_${UUID}`),
      [UUID, 'claude', '2.0.14'],
    ],
    [
      'Codex',
      {
        'user-agent': 'codex_exec/0.169.0 (Debian 12; x86_64) unknown',
        'session-id': UUID,
        originator: 'codex_exec',
      },
      { prompt_cache_key: 'thread' },
      [UUID, 'codex', '0.169.0'],
    ],
    ['the desktop Codex', { originator: 'codex_vscode' }, { prompt_cache_key: UUID }, [UUID, 'codex', '']],
    [
      'opencode',
      { 'user-agent': 'opencode/latest/1.18.33/cli', 'x-session-id': 'ses_1', 'x-session-affinity': 'ses_1' },
      {},
      ['ses_1', 'opencode', '1.18.33'],
    ],
    [
      'Kilo',
      { 'user-agent': 'opencode/7.7.7', 'x-title': 'Kilo Code', 'x-session-id': 'ses_2' },
      {},
      ['ses_2', 'kilo', '7.7.7'],
    ],
    [
      'Crush',
      { 'user-agent': 'Charm-Crush/0.9.1', 'x-session-affinity': 'hash' },
      {},
      ['hash', 'crush', '0.9.1'],
    ],
    ['Goose', { 'agent-session-id': '20260809_29' }, {}, ['20260809_29', 'goose', '']],
    [
      'pi',
      { 'user-agent': 'pi/0.73.1', session_id: UUID },
      { prompt_cache_key: UUID },
      [UUID, 'pi', '0.73.1'],
    ],
    [
      'Copilot CLI',
      { 'user-agent': 'copilot/1.0.102 (linux v24.16.0) term/unknown' },
      { prompt_cache_key: UUID },
      [UUID, 'copilot', '1.0.102'],
    ],
    [
      'Open WebUI',
      { 'x-openwebui-chat-id': UUID, 'user-agent': 'Python/3.12 aiohttp/3.11' },
      {},
      [UUID, 'open-webui', ''],
    ],
    ['Qwen Code', { 'user-agent': 'QwenCode/0.24.4 (linux; x64)' }, {}, ['', 'qwen', '0.24.4']],
    [
      "Qwen Code on Anthropic's API",
      { 'user-agent': 'claude-cli/0.24.4 (external, cli)' },
      {},
      ['', 'qwen', '0.24.4'],
    ],
    [
      'Gemini CLI',
      { 'user-agent': 'GeminiCLI-tui/v0.61.0/gemini-3-pro (linux; x64; terminal)' },
      {},
      ['', 'gemini', '0.61.0'],
    ],
    ['Cline', { 'user-agent': 'Cline/3.0.65' }, {}, ['', 'cline', '3.0.65']],
    ['Zed', { 'user-agent': 'Zed/1.4.2 (linux; x86_64)', 'x-session-id': 't1' }, {}, ['t1', 'zed', '1.4.2']],
    [
      'an SDK',
      { 'user-agent': 'OpenAI/Python 2.1.0' },
      { prompt_cache_key: 'app', metadata: { user_id: 'me' } },
      ['', '', ''],
    ],
    ['nobody', {}, {}, ['', '', '']],
  ])('%s', (_name, headers, body, [sessionId, agent, agentVersion]) => {
    expect(sessionOf(headers, body)).toEqual({ sessionId, agent, agentVersion });
  });

  test('a long or unprintable id becomes its hash, so that it still tells sessions apart', () => {
    const ids = ['s'.repeat(129), 's'.repeat(130), '\u001b[2J', 'a\nb', '‮evil'].map(
      (session_id) => sessionOf(CLAUDE, metadata(JSON.stringify({ session_id }))).sessionId,
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^sha256-[\w-]{43}$/);
  });

  test.each([
    ['invalid JSON', '{"metadata":{"user_id":"\\x_session_a"}}'],
    ['another type', '{"metadata":[1],"prompt_cache_key":{"a":1}}'],
    ['a very long field', JSON.stringify(metadata(`user_session_${'x'.repeat(5_000)}`))],
    ['invalid JSON inside', JSON.stringify(metadata('{"session_id":'))],
    [
      'a member of every object',
      JSON.stringify({ metadata: JSON.parse('{"__proto__":{"user_id":"a_session_b"}}') }),
    ],
  ])('%s in the body is no session', (_name, body) => {
    expect(sessionOf({ 'user-agent': 'claude-cli/2.1.0' }, body)).toMatchObject({ sessionId: '' });
  });

  test('whatever the headers hold, all three are short and printable', () => {
    const names = fc.constantFrom('user-agent', 'x-title', 'originator', 'x-session-id', 'agent-session-id');
    const value = fc.oneof(
      fc.string({ maxLength: 400, unit: 'binary' }),
      fc
        .tuple(fc.constantFrom('codex', 'pi', 'constructor', '__proto__'), fc.string())
        .map((parts) => parts.join('/')),
    );
    fc.assert(
      fc.property(fc.dictionary(names, value), (headers) => {
        const { sessionId, agent, agentVersion } = sessionOf(headers);
        expect(sessionId).toMatch(/^[\x21-\x7e]{0,128}$/);
        expect(agent).toMatch(/^[a-z-]{0,20}$/);
        expect(agentVersion).toMatch(/^[\w.+-]{0,33}$/);
      }),
    );
  });
});
