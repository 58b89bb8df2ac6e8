import OpenAI, { toFile } from 'openai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NANO_PER_USD } from '../../src/money.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, respond, type Script } from '../support/scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { events } from '../wire/support/event-scripts.ts';

/** A provider that sells OpenAI's models at OpenAI's prices, under a cap. */
async function served(capUsd?: number) {
  const gateway = await startGateway({
    ...(capUsd === undefined ? {} : { budget: { capUsd, period: 'daily' } as const }),
  });
  const { port } = gateway.upstream;
  gateway.configure({
    providers: { mock: { baseUrl: `http://127.0.0.1:${port}/v1`, pricesOf: 'openai' } },
  });
  const sdk = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  return { gateway, sdk };
}

/** Calls until the budget refuses; how many answers came, and what is on record. */
async function spend(gateway: TestGateway, call: () => Promise<unknown>) {
  let answers = 0;
  let refusal: unknown;
  while (refusal === undefined && answers < 1_000)
    await call().then(
      () => answers++,
      (error: unknown) => {
        refusal = error;
      },
    );
  expect(refusal).toMatchObject({ status: 402, code: 'budget_exceeded' });
  const records = await gateway.settled(answers + 1);
  const ok = records.filter(({ outcome }) => outcome === 'ok');
  expect(ok).toHaveLength(answers);
  return { answers, usd: ok.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0) / NANO_PER_USD, ok };
}

/** Sound of this many seconds as a WAV file. */
function wav(seconds: number, rate = 1_000): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + seconds * rate, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(seconds * rate, 40);
  return Buffer.concat([head, Buffer.alloc(seconds * rate, 128)]);
}

const png = () => toFile(Buffer.alloc(2_000, 7), 'in.png', { type: 'image/png' });
const imageUsage = (output: number) => ({
  input_tokens: 50,
  output_tokens: output,
  total_tokens: 50 + output,
  input_tokens_details: { text_tokens: 50, image_tokens: 0 },
});
const images = (n: number, usage?: object): Script =>
  json(200, { created: 1, data: Array.from({ length: n }, () => ({ b64_json: 'AAAA' })), usage });
const sound = respond(200, { 'content-type': 'audio/mpeg' }, Buffer.alloc(500, 1));

/** A call, what the provider answers, what it bills for one, and the cap that such calls are to use up. */
interface Case {
  call: (sdk: OpenAI) => Promise<unknown>;
  answer: Script;
  billUsd: number;
  capUsd: number;
}

const gptImage = { model: 'mock/gpt-image-1', prompt: 'A cat' } as const;
const CASES: Record<string, Case> = {
  'images/generations, priced by the picture': {
    call: (sdk) =>
      sdk.images.generate({ model: 'mock/dall-e-3', prompt: 'A cat', quality: 'hd', size: '1024x1792' }),
    answer: images(1),
    billUsd: 0.12,
    capUsd: 1.3,
  },
  'images/generations, several pictures': {
    call: (sdk) => sdk.images.generate({ model: 'mock/dall-e-2', prompt: 'A cat', n: 3, size: '256x256' }),
    answer: images(3),
    billUsd: 0.048,
    capUsd: 0.5,
  },
  'images/generations, priced by tokens': {
    call: (sdk) => sdk.images.generate({ ...gptImage, quality: 'medium', size: '1024x1024' }),
    answer: images(1, imageUsage(1_056)),
    billUsd: (50 * 5 + 1_056 * 40) / 1e6,
    capUsd: 1,
  },
  'images/generations, streamed': {
    call: async (sdk) => {
      const asked = { ...gptImage, quality: 'low', size: '1024x1024', partial_images: 1 } as const;
      const seen: string[] = [];
      for await (const event of await sdk.images.generate({ ...asked, stream: true })) seen.push(event.type);
      expect(seen).toEqual(['image_generation.partial_image', 'image_generation.completed']);
    },
    answer: events([
      ['image_generation.partial_image', { type: 'image_generation.partial_image', b64_json: 'AA' }],
      [
        'image_generation.completed',
        { type: 'image_generation.completed', b64_json: 'AAAA', usage: imageUsage(372) },
      ],
    ]),
    billUsd: (50 * 5 + 372 * 40) / 1e6,
    capUsd: 0.3,
  },
  'images/edits': {
    call: async (sdk) =>
      sdk.images.edit({ ...gptImage, image: await png(), quality: 'high', size: '1024x1024' }),
    answer: images(1, {
      ...imageUsage(4_160),
      input_tokens: 373,
      input_tokens_details: { text_tokens: 50, image_tokens: 323 },
    }),
    billUsd: (50 * 5 + 323 * 10 + 4_160 * 40) / 1e6,
    capUsd: 3,
  },
  'images/edits of several pictures': {
    call: async (sdk) =>
      sdk.images.edit({ ...gptImage, image: [await png(), await png()], quality: 'low', size: '1024x1024' }),
    answer: images(1, {
      ...imageUsage(272),
      input_tokens: 696,
      input_tokens_details: { text_tokens: 50, image_tokens: 646 },
    }),
    billUsd: (50 * 5 + 646 * 10 + 272 * 40) / 1e6,
    capUsd: 2,
  },
  'images/variations': {
    call: async (sdk) => sdk.images.createVariation({ model: 'mock/dall-e-2', image: await png(), n: 2 }),
    answer: images(2),
    billUsd: 0.04,
    capUsd: 0.43,
  },
  'audio/speech': {
    call: (sdk) =>
      sdk.audio.speech.create({ model: 'mock/tts-1', voice: 'alloy', input: 'Hello. '.repeat(100) }),
    answer: sound,
    billUsd: (700 * 15) / 1e6,
    capUsd: 0.1,
  },
  'audio/transcriptions, priced by the second': {
    call: async (sdk) =>
      sdk.audio.transcriptions.create({ model: 'mock/whisper-1', file: await toFile(wav(90), 'a.wav') }),
    answer: json(200, { text: 'Hello', usage: { type: 'duration', seconds: 90 } }),
    billUsd: 0.009,
    capUsd: 0.1,
  },
  'audio/translations, without a report': {
    call: async (sdk) =>
      sdk.audio.translations.create({ model: 'mock/whisper-1', file: await toFile(wav(60), 'a.wav') }),
    answer: json(200, { text: 'Hello' }),
    billUsd: 0.006,
    capUsd: 0.05,
  },
  'audio/transcriptions, priced by tokens': {
    call: async (sdk) =>
      sdk.audio.transcriptions.create({
        model: 'mock/gpt-4o-transcribe',
        file: await toFile(wav(60), 'a.wav'),
      }),
    answer: json(200, {
      text: 'Hello',
      usage: {
        type: 'tokens',
        input_tokens: 10_600,
        input_token_details: { text_tokens: 0, audio_tokens: 10_600 },
        output_tokens: 1_000,
        total_tokens: 11_600,
      },
    }),
    billUsd: (10_600 * 6 + 1_000 * 10) / 1e6,
    capUsd: 1.6,
  },
  videos: {
    call: (sdk) =>
      sdk.videos.create({
        model: 'mock/sora-2-pro' as 'sora-2-pro',
        prompt: 'A cat',
        seconds: '8',
        size: '1024x1792',
      }),
    answer: json(200, {
      id: 'video_1',
      object: 'video',
      status: 'completed',
      seconds: '8',
      size: '1024x1792',
    }),
    billUsd: 4,
    capUsd: 17,
  },
};

describe('media under a cap', () => {
  test.each(Object.entries(CASES))('%s', async (_, { call, answer, billUsd, capUsd }) => {
    const { gateway, sdk } = await served(capUsd);
    gateway.upstream.script(answer);
    const { answers, usd, ok } = await spend(gateway, () => call(sdk));
    // Every dollar of the bill is on record, the cap is not passed, and no room for another one is left: a tenth at most.
    expect(usd).toBeCloseTo(answers * billUsd, 9);
    expect(usd).toBeLessThanOrEqual(capUsd);
    const held = Math.max(...ok.map(({ holdNanoUsd }) => holdNanoUsd)) / NANO_PER_USD;
    expect(held).toBeGreaterThanOrEqual(billUsd);
    expect(capUsd - usd).toBeLessThan(Math.min(held, capUsd / 10));
    expect(ok.every(({ flags }) => !flags.some((flag) => flag !== 'stream'))).toBe(true);
  });

  test('what has no bound is refused as before', async () => {
    const { gateway, sdk } = await served(5);
    const unbounded: Record<string, Promise<unknown>> = {
      'a size without a price': sdk.images.generate({ ...gptImage, model: 'mock/dall-e-3', size: '512x512' }),
      'a model without a table': sdk.images.generate({ ...gptImage, model: 'mock/gpt-image-2' }),
      'a voice that is billed by its sound': sdk.audio.speech.create({
        ...{ model: 'mock/gpt-4o-mini-tts', voice: 'alloy', input: 'Hi' },
      }),
      'a recording of unknown length': sdk.audio.transcriptions.create({
        ...{ model: 'mock/whisper-1', file: await toFile(Buffer.alloc(500), 'a.wav') },
      }),
    };
    for (const [what, call] of Object.entries(unbounded))
      await expect(call, what).rejects.toMatchObject({ status: 402, code: 'cost_unbounded' });
    expect(gateway.upstream.requests).toHaveLength(0);
  });

  test('what is known is booked without a budget too', async () => {
    const { gateway, sdk } = await served();
    gateway.upstream.script(images(1));
    await sdk.images.generate({ model: 'mock/dall-e-2', prompt: 'A cat' });
    expect((await gateway.settled(1))[0]).toMatchObject({ costNanoUsd: 20_000_000, flags: [] });
  });

  test('recordings at once hold their seconds together', async () => {
    const { gateway, sdk } = await served(0.05);
    gateway.configure({
      providers: { mock: { baseUrl: gateway.upstream.url, pricesOf: 'openai' } },
      'admission.max_wait_ms': 0,
    });
    gateway.upstream.script(json(200, { text: 'Hello', usage: { type: 'duration', seconds: 100 } }));
    const file = wav(100);
    const ask = async () =>
      sdk.audio.transcriptions.create({ model: 'mock/whisper-1', file: await toFile(file, 'a.wav') });
    const asked = await Promise.allSettled(Array.from({ length: 12 }, ask));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    const usd = (await gateway.settled(12)).reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
    expect(usd).toBe(50_000_000);
  });

  test('an error costs nothing', async () => {
    const { gateway, sdk } = await served(5);
    gateway.upstream.script(json(400, { error: { message: 'No.', type: 'invalid_request_error' } }));
    await expect(sdk.images.generate({ model: 'mock/dall-e-2', prompt: 'A cat' })).rejects.toMatchObject({
      status: 400,
    });
    expect((await gateway.settled(1))[0]).toMatchObject({ costNanoUsd: 0 });
  });

  test('an answer above the bound ends trust in it', async () => {
    const { gateway, sdk } = await served(5);
    gateway.upstream.script(json(200, { text: 'Hello', usage: { type: 'duration', seconds: 900 } }));
    const ask = async () =>
      sdk.audio.transcriptions.create({ model: 'mock/whisper-1', file: await toFile(wav(9), 'a.wav') });
    await ask();
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ costNanoUsd: 90_000_000, flags: ['overrun', 'underheld'] });
    await expect(ask()).rejects.toMatchObject({ status: 402, code: 'cost_unbounded' });
  });
});

describe('a film', () => {
  const film = { model: 'mock/sora-2' as 'sora-2', prompt: 'A cat', seconds: '8' } as const;
  const job = (status: string, id = 'video_1') => json(200, { id, object: 'video', status, seconds: '8' });

  test('is held until a poll shows its end, and booked once', async () => {
    const { gateway, sdk } = await served(1);
    gateway.upstream.queue(job('queued'), job('in_progress'), job('completed'), job('completed'));
    await sdk.videos.create(film);
    expect(gateway.holds()).toBe(1);
    // A second one finds no room, though nothing is booked yet.
    gateway.configure({
      providers: { mock: { baseUrl: gateway.upstream.url, pricesOf: 'openai' } },
      'admission.max_wait_ms': 0,
    });
    await expect(sdk.videos.create(film)).rejects.toMatchObject({ status: 429, code: 'budget_busy' });
    await sdk.videos.retrieve('video_1');
    await gateway.committed();
    expect(gateway.holds()).toBe(1);
    for (const _ of [1, 2]) await sdk.videos.retrieve('video_1');
    const booked = (await gateway.settled(5)).filter(({ costNanoUsd }) => costNanoUsd > 0);
    expect(booked).toMatchObject([
      { costNanoUsd: 800_000_000, endpoint: 'videos', outcome: 'ok', flags: [] },
    ]);
    await expect(sdk.videos.create(film)).rejects.toMatchObject({ status: 402, code: 'budget_exceeded' });
  });

  test('that failed costs nothing, and its room is free again', async () => {
    const { gateway, sdk } = await served(1);
    gateway.upstream.queue(job('queued'), job('failed'), job('queued', 'video_2'), respond(200, {}, 'film'));
    await sdk.videos.create(film);
    await sdk.videos.retrieve('video_1');
    await sdk.videos.create(film);
    await sdk.videos.downloadContent('video_2');
    const films = (await gateway.settled(4)).filter(({ endpoint }) => endpoint === 'videos');
    expect(films).toMatchObject([
      { costNanoUsd: 0, outcome: 'upstream_failed', upstreamMessageId: 'video_1' },
      { costNanoUsd: 800_000_000, outcome: 'ok', upstreamMessageId: 'video_2' },
    ]);
  });

  test('outlives its daemon, and is booked in full when nobody asks', async () => {
    const clock = createVirtualClock(Date.now());
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const home = tmpHome();
    const settings = { providers: { mock: { baseUrl: upstream.url, pricesOf: 'openai' } } };
    const options = { clock, upstream, home, settings, budget: { capUsd: 1, period: 'lifetime' as const } };
    const first = await startGateway({ ...options, leavesHolds: true });
    upstream.queue(job('queued'));
    const sdk = new OpenAI({ baseURL: first.url, apiKey: first.key, maxRetries: 0 });
    await sdk.videos.create(film);
    await first.stop();
    const second = await startGateway(options);
    expect(second.holds()).toBe(1);
    clock.setWallTime(clock.now() + 25 * 3_600_000);
    await clock.advance(3_600_000);
    const [record] = await second.settled(1);
    expect(record).toMatchObject({ costNanoUsd: 800_000_000, outcome: 'ok', flags: ['estimated'] });
  });
});

test('gw prices list shows them, of a model that has no price of tokens too', async () => {
  const { gateway } = await served();
  const cli = commandLineOf(gateway, 'locally', createVirtualClock(Date.now()));
  const shown = async (model: string) =>
    JSON.parse((await cli.exec(['prices', 'list', model, '--json'])).stdout)[0];
  expect(await shown('openai/dall-e-3')).toMatchObject({ input_usd_per_million: null, usd_per_image: 0.04 });
  expect(await shown('openai/sora-2')).toMatchObject({ usd_per_second: 0.1, usd_per_image: null });
  expect(await shown('openai/tts-1')).toMatchObject({ usd_per_million_characters: 15 });
  expect((await cli.exec(['prices', 'list', 'openai/tts-1'])).stdout).toMatch(/M characters[\s\S]*15/);
  expect((await cli.exec(['prices', 'list', 'openai/nothing-1'])).code).toBe(5);
});

test('the owner sets prices of pictures, seconds and characters, which win over published ones', async () => {
  const clock = createVirtualClock(Date.now());
  const gateway = await startGateway({ clock, budget: { capUsd: 5, period: 'daily' } });
  const cli = commandLineOf(gateway, 'locally', clock);
  const set = (...options: string[]) => cli.exec(['prices', 'set', ...options]);
  for (const options of [
    ['mock/painter', '--per-image', '0.25'],
    // Free tokens, which its answers report, are not the price of its seconds.
    ['mock/listener', '--per-second', '0.001', '--input', '0', '--output', '0'],
    ['mock/reader', '--per-million-characters', '20'],
  ])
    expect((await set(...options)).code).toBe(0);
  expect(await set('mock/nothing')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--per-image'),
  });
  const sdk = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const usage = { type: 'tokens', input_tokens: 90, output_tokens: 5, total_tokens: 95 };
  gateway.upstream.queue(images(2), json(200, { text: 'Hi', usage }), sound);
  await sdk.images.generate({ model: 'mock/painter', prompt: 'A cat', n: 2 });
  await sdk.audio.transcriptions.create({ model: 'mock/listener', file: await toFile(wav(9), 'a.wav') });
  await sdk.audio.speech.create({ model: 'mock/reader', voice: 'alloy', input: 'x'.repeat(1_000) });
  const costs = (await gateway.settled(3)).map(({ costNanoUsd }) => costNanoUsd / NANO_PER_USD);
  expect(costs).toEqual([0.5, 0.009, 0.02]);
  // They are no price of tokens.
  await expect(
    sdk.chat.completions.create({ model: 'mock/painter', messages: [{ role: 'user', content: 'Hi' }] }),
  ).rejects.toMatchObject({ status: 402, code: 'price_unknown' });
});
