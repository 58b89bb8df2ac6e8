import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import OpenAI from 'openai';
import { afterAll, describe, expect, test } from 'vitest';
import { chunkBody } from '../../support/chat-shapes.ts';
import type { Script } from '../../support/scripts.ts';
import { agentScript, COMMAND_OUTPUT, USE_TOOL } from '../support/agent-script.ts';
import { startBothWires } from '../support/anthropic-gateway.ts';
import { type OpenAiConstructor, openAiClients } from '../support/clients.ts';
import { describeClient } from '../support/describe-client.ts';
import { either, eventText } from '../support/event-scripts.ts';
import { install } from '../support/install.ts';
import { messageBody, messageStream, text } from '../support/messages-shapes.ts';
import { ask, kill, PROGRAMS, type Program } from '../support/programs.ts';
import { provider } from '../support/provider-script.ts';

const LONG = { timeout: 180_000 };
const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const cleanUp of cleanups) cleanUp();
});
const modulesWith = (spec: string) => install(spec, (cleanUp) => void cleanups.push(cleanUp));

const MODEL = 'mock/test-model';

/** Sends a first word and then waits. */
const beginAndWait: Script = async (exchange) => {
  if (!exchange.request.path.startsWith('/v1/chat/completions')) return agentScript(exchange);
  await exchange.body;
  await exchange.start(200, { 'content-type': 'text/event-stream' });
  await exchange.chunk(eventText(['', chunkBody('test-model', { delta: { content: 'Hello' } })]));
  await exchange.untilGone();
};

function describeProgram(program: Program, modules: string): void {
  describe(program.name, LONG, () => {
    const run = async (gateway: Parameters<typeof ask>[2], prompt: string, model = MODEL) =>
      (await ask(program, modules, gateway, { model, prompt })).output;

    test('works with a provider that only has chat completions', async () => {
      const gateway = await startBothWires();
      gateway.upstream.script(agentScript);
      expect(await run(gateway, 'Say hello')).toContain('Hello you');
      const records = await gateway.settled(1);
      expect(records.every(({ outcome, inputTokens }) => outcome === 'ok' && inputTokens === 20)).toBe(true);
      expect(records.length).toBeLessThanOrEqual(program.requests);
    });

    test('runs a tool and repeats its output', async () => {
      const gateway = await startBothWires();
      gateway.upstream.script(agentScript);
      expect(await run(gateway, `${USE_TOOL} and tell`)).toContain(`It says ${COMMAND_OUTPUT}`);
    });

    test('works with the sandbox', async () => {
      const gateway = await startBothWires();
      expect(await run(gateway, 'Say hello', 'sandbox/echo')).toContain("This is gw's sandbox");
    });

    test('does not retry when the budget is exhausted, and shows what to do', async () => {
      const gateway = await startBothWires({ budget: { capUsd: 0, period: 'daily' } });
      gateway.upstream.script(agentScript);
      expect(await run(gateway, 'Say hello')).toContain('gw budget set');
      expect((await gateway.records()).length).toBeLessThanOrEqual(program.requests);
      expect(gateway.upstream.requests).toHaveLength(0);
    });

    test('when killed, its upstream call is closed within 100 ms', { ...LONG, retry: 2 }, async () => {
      const gateway = await startBothWires();
      gateway.upstream.script(beginAndWait);
      const running = await ask(program, modules, gateway, { model: MODEL, prompt: 'Say hello' });
      let request = await gateway.upstream.nextRequest();
      while (!request.path.startsWith('/v1/chat/completions')) request = await gateway.upstream.nextRequest();
      kill(running);
      await once(running.child, 'exit');
      // Measured from the exit, as a large program takes a while to exit and its connections close with it.
      const exitedAt = performance.now();
      await request.done;
      expect((request.hungUp?.monotonicMs ?? Number.POSITIVE_INFINITY) - exitedAt).toBeLessThan(100);
      await running.output;
    });
  });
}

for (const program of PROGRAMS) {
  const modules = await modulesWith(program.spec);
  if (modules) describeProgram(program, modules);
  else describe.skip(program.name, () => test('is not installed', () => {}));

  if (modules && program.bin === 'claude') {
    test('Claude Code works with a model of Anthropic', LONG, async () => {
      const gateway = await startBothWires();
      gateway.upstream.script(either(messageBody([text('Hello')]), messageStream([text('Hello')])));
      const running = await ask(program, modules, gateway, { model: 'claude-opus-4-6', prompt: 'Say hello' });
      expect(await running.output).toContain('Hello');
      const [record] = await gateway.settled(1);
      expect(record).toMatchObject({ endpoint: 'messages', outcome: 'ok', outputTokens: 5 });
      expect(gateway.upstream.requests.at(-1)?.path).toBe('/v1/messages?beta=true');
    });
  }
  if (modules && program.bin === 'codex') {
    test('Codex works with a provider that has the responses API', LONG, async () => {
      const gateway = await startBothWires();
      gateway.upstream.script(provider);
      const running = await ask(program, modules, gateway, { model: MODEL, prompt: 'Say hello' });
      expect(await running.output).toContain('Hello you');
      for (const record of await gateway.settled(2))
        expect(record).toMatchObject({ endpoint: 'responses', outcome: 'ok' });
    });
  }
}

for (const version of ['4', '5']) {
  const modules = await modulesWith(`openai@${version}`);
  if (modules) {
    const url = pathToFileURL(join(modules, 'openai/index.mjs')).href;
    const { default: Sdk } = (await import(url)) as { default: OpenAiConstructor };
    expect(Sdk).not.toBe(OpenAI);
    for (const client of openAiClients(Sdk, version)) describeClient(client);
  } else describe.skip(`openai ${version}`, () => test('is not installed', () => {}));
}
