import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import { openSettingsFile } from '../../src/config/save.ts';
import { readSecrets } from '../../src/config/secrets.ts';
import { temporaryDirectory } from '../support/simulator.ts';

const newFile = () => join(temporaryDirectory(), 'config.json');
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as unknown;

describe('openSettingsFile()', () => {
  test('writes what loadSettings() reads, for the owner alone', async () => {
    const file = newFile();
    const store = await openSettingsFile(file);
    store.set(['admission', 'max_wait_ms'], 50);
    store.set(['aliases', 'gpt-5.1'], 'openai/gpt-5.1');
    const { settings, problems } = loadSettings({ file });
    expect(settings['admission.max_wait_ms']).toBe(50);
    expect(settings.aliases).toEqual({ 'gpt-5.1': 'openai/gpt-5.1' });
    expect(problems).toEqual([]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('leaves alone what it is not asked to change', async () => {
    const file = newFile();
    writeFileSync(file, JSON.stringify({ port: 5, future: { kept: true } }));
    const store = await openSettingsFile(file);
    store.set(['host'], 'localhost');
    store.delete(['port']);
    expect(read(file)).toEqual({ host: 'localhost', future: { kept: true } });
  });

  test('deletes a name with a dot in it', async () => {
    const file = newFile();
    const store = await openSettingsFile(file);
    store.set(['providers', 'my.host'], { baseUrl: 'http://localhost:1' });
    store.delete(['providers', 'my.host']);
    expect(read(file)).toEqual({ providers: {} });
  });
});

describe('readSecrets()', () => {
  test('reads names and keys, and refuses what is no text', () => {
    const file = newFile();
    writeFileSync(file, JSON.stringify({ openai: 'sk-1' }));
    expect(readSecrets(file)).toEqual({ openai: 'sk-1' });
    writeFileSync(file, JSON.stringify({ openai: 'sk-1', broken: 5 }));
    expect(() => readSecrets(file)).toThrow(`${file} has no text for "broken"`);
  });

  test('is empty without a file', () => {
    expect(readSecrets(newFile())).toEqual({});
  });
});
