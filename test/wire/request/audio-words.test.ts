import { describe, expect, test } from 'vitest';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { audioIn } from '../../../src/wire/request/audio-words.ts';

const user = (...content: unknown[]) => ({ model: 'm', messages: [{ role: 'user', content }] });
const text = (words: string) => user({ type: 'text', text: words });
const IN = { audioInput: true, audioOutput: false };
const OUT = { audioInput: true, audioOutput: true };
const NONE = { audioInput: false, audioOutput: false };

describe('audioIn()', () => {
  test.each<[string, object, string, object]>(
    [
      ['text', 'gemini-2.5-flash', text('Hi'), NONE],
      [
        'text about audio',
        'gemini-2.5-flash',
        text('The "audio" in {"type":"input_audio"} and "modalities"'),
        NONE,
      ],
      ['a part', 'gpt-4o', user({ type: 'input_audio', input_audio: { data: '', format: 'wav' } }), IN],
      ['an address', 'gemini-2.5-flash', user({ type: 'audio_url', audio_url: { url: 'https://a' } }), OUT],
      ['a MIME type', 'm', { ...text('Hi'), extra: { mime_type: 'audio/mp3' } }, IN],
      ['a data address', 'm', user({ type: 'x', url: 'data:audio/mp3;base64,AA' }), IN],
      ['a video', 'm', { ...text('Hi'), extra: { mime_type: 'video/mp4' } }, IN],
      [
        'an image by address, which may be anything',
        'm',
        user({ type: 'image_url', image_url: { url: 'https://a' } }),
        IN,
      ],
      ['a file', 'm', user({ type: 'file', file: { file_id: 'a' } }), OUT],
      ['an answer with audio', 'gpt-4o', { ...text('Hi'), modalities: ['text', 'audio'] }, OUT],
      [
        'a field of Google',
        'm',
        { ...text('Hi'), extra_body: { responseModalities: ['AUDIO'] } },
        { audioOutput: true },
      ],
      ['an audio model', 'gpt-audio-mini', text('Hi'), OUT],
      ['another audio model', 'google gemini-3.1-flash-live-preview', text('Hi'), OUT],
    ].map(
      ([name, model, body, expected]) => [name, body, model, expected] as [string, object, string, object],
    ),
  )('reads %s', (_, body, model, expected) => {
    expect(audioIn(chatWire.parse(Buffer.from(JSON.stringify(body))), model)).toMatchObject(expected);
  });
});
