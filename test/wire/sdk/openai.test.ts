import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import OpenAI from 'openai';
import { afterAll, describe, expect, test } from 'vitest';
import { type OpenAiConstructor, openAiClients } from '../support/clients.ts';
import { describeClient } from '../support/describe-client.ts';
import { install } from '../support/install.ts';

const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const cleanUp of cleanups) cleanUp();
});

for (const version of ['4', '5']) {
  const modules = await install(`openai@${version}`, (cleanUp) => void cleanups.push(cleanUp));
  if (modules) {
    const url = pathToFileURL(join(modules, 'openai/index.mjs')).href;
    const { default: Sdk } = (await import(url)) as { default: OpenAiConstructor };
    expect(Sdk).not.toBe(OpenAI);
    for (const client of openAiClients(Sdk, version)) describeClient(client);
  } else describe.skip(`openai ${version}`, () => test('is not installed', () => {}));
}
