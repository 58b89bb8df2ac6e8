/** Texts that are hard on a tokenizer, the same ones for the same seed; short, as js-tiktoken is quadratic. */

type Random = (below: number) => number;

const PROSE = [
  "The quick brown fox doesn't jump over the lazy dog; it's 12:45 already, and WE'LL be late!",
  'Größere Straßen führen überraschend häufig durch Tübingen, sagte Übersetzerin Müller-Lüdenscheidt.',
  'Ça va bientôt être l’été : où irons-nous « cette année », à Besançon ou à Nîmes ?',
  'El niño añadió: ¿por qué no?, y ¡vámonos! mañana también habrá piñata.',
  'Съешь же ещё этих мягких французских булок, да выпей чаю. ОБЪЯВЛЕНИЕ!',
  'Ο καιρός είναι καλός σήμερα· ας πάμε μια βόλτα στην Αθήνα.',
  'השועל החום המהיר קופץ מעל הכלב העצלן, וזה נכון.',
  'الثعلب البني السريع يقفز فوق الكلب الكسول، ٣٤٥ مرة.',
  'तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूद गई। १२३४',
  'สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ',
  'Con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng ở Việt Nam.',
  'İstanbul’da ılık bir IŞIK vardı; ǅungla, ǈubav.',
];
const CJK = [
  '快速的棕色狐狸跳过懒狗。',
  '吾輩は猫である。名前はまだ無い。',
  '다람쥐 헌 쳇바퀴에 타고파',
  '𠀀𠀁𪚥',
  '、。「」！？',
];
const CODE = [
  'export async function* read(stream: ReadableStream<Uint8Array>) {\n\tfor (;;) { /* wait */ }\n}\n',
  'def f(x, *args, **kwargs):\r\n    """doc"""\r\n    return {k: v ** 2 for k, v in x.items() if v != -1}\r\n',
  "SELECT id, COUNT(*) AS n FROM users_2024 WHERE name LIKE '%O''Neil%' GROUP BY 1; -- ok\n",
  '#include <stdio.h>\nint main(void) { printf("%08x\\n", 0xDEADbeef); return 0; } //////\n//\n/',
  'https://example.com/a/b?c=d&e=%20f#g C:\\Users\\x\\y.txt  ~/.config/foo.yaml',
];
const EMOJI = ['👩‍👩‍👧‍👦', '🏳️‍🌈', '👍🏽', '🇩🇪🇫🇷', '😀😃', '❤️', '1️⃣', '🧑🏿‍🚀'];
const CONTRACTIONS = "don't WE'RE I'M he'Ll 's x'vE 'tis y'all'd've 'S'T ſ's a’s 中'd".split(' ');
const SPACES = [...' \t\n\r\v\u0085\u00a0\u2028\u200b\u3000\ufeff', '  ', '\r\n'];
const MARKS = 'e\u0301|\u0301| \u0301\u0302|\u0301a|\u200d|\ufe0f|A\u030aB|\u0903\u0903|ʰʷ|ⅷ½²٣'.split('|');
const SPECIAL = ['<|endoftext|>', '<|fim_prefix|>', '<|endofprompt|>', '<|im_start|>user', '<|end'];
const RUNS = [...'aAß中😀0=/. \n\0\u0301\ud800', "'", 'z9', 'ab', '-*'];

export function makeCorpus(size: number, seed: number): string[] {
  const random = seeded(seed);
  return Array.from({ length: size }, (_, i) => makeText(i % KINDS.length, random));
}

function makeText(kind: number, random: Random): string {
  return (KINDS[kind] as (random: Random) => string)(random);
}

const KINDS: readonly ((random: Random) => string)[] = [
  (random) => slice(pick(PROSE, random), random),
  (random) => slice(pick(CODE, random), random),
  (random) =>
    JSON.stringify(
      { [word(random)]: [random(1e9), random(2) > 0, null, pick(PROSE, random)] },
      null,
      random(4),
    ),
  (random) => several(CJK, random),
  (random) => several(EMOJI, random),
  (random) => several(CONTRACTIONS, random),
  (random) => several(SPACES, random) + word(random) + several(SPACES, random),
  (random) => several(MARKS, random),
  (random) => several(SPECIAL, random),
  (random) => pick(RUNS, random).repeat(1 + random(100)),
  (random) => String.fromCharCode(...list(random, () => random(0x20))),
  (random) => String.fromCharCode(...list(random, () => random(0x10000))),
  (random) => String.fromCharCode(...list(random, () => 0xd700 + random(0xa00))),
  (random) => String.fromCodePoint(...list(random, () => random(0x110000))),
  (random) => Buffer.from(list(random, () => random(256))).toString(random(2) > 0 ? 'base64' : 'latin1'),
  (random) => list(random, () => `${random(10 ** random(12))}`).join(pick(['', ',', '.', ' ', '-'], random)),
  (random) =>
    list(random, () => makeText(random(KINDS.length - 1), random).slice(0, 12))
      .slice(0, 8)
      .join(''),
];

function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function pick(from: readonly string[], random: Random): string {
  return from[random(from.length)] as string;
}

function list<T>(random: Random, make: () => T): T[] {
  return Array.from({ length: 1 + random(40) }, make);
}

function several(from: readonly string[], random: Random): string {
  return list(random, () => pick(from, random))
    .slice(0, 12)
    .join('');
}

function slice(text: string, random: Random): string {
  return text.slice(random(text.length));
}

function word(random: Random): string {
  return String.fromCharCode(...list(random, () => 65 + random(58)));
}
