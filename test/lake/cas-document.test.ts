import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { type Json, isJsonObject } from '../../shared/base/json.ts';
import * as z from 'zod/mini';
import {
  CasDocument,
  damagedDocument,
  parseDocument,
  parseJsonDocument,
  storedCount,
  storedObject,
  storedTime,
  undamaged,
} from '../../shared/lake/cas-document.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { type PutFate, losesAnswers } from '../fakes/loses-answers-store.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { runs } from '../fixtures/property-runs.ts';

interface Notes {
  notes: string[];
  recentWrites: string[];
}

const KEY = 'notes.json';
let ids = 0;

function parse(stored: Json | undefined): Notes {
  if (stored === undefined) return { notes: [], recentWrites: [] };
  const texts = (value: Json | undefined) =>
    Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
  const notes = isJsonObject(stored) ? texts(stored.notes) : undefined;
  const recent = isJsonObject(stored) ? texts(stored.recentWrites) : undefined;
  if (!notes || !recent) throw damagedDocument(KEY, 'it has no notes');
  return { notes, recentWrites: recent };
}

function open(
  store: ObjectStore,
  pause: (round: number) => Promise<void> = async () => {},
): CasDocument<Notes> {
  return new CasDocument({ store, key: KEY, parse, newId: () => `id-${++ids}`, pause });
}

function add(note: string) {
  return (current: Notes): Notes => ({ ...current, notes: [...current.notes, note] });
}

const stored = async (store: ObjectStore) => (await open(store).refresh()).notes;

describe('a document of the lake', () => {
  it('is empty until a first change writes it', async () => {
    const store = memoryStore();
    expect(await open(store).cached()).toEqual({ notes: [], recentWrites: [] });
    expect(store.objects.size).toBe(0);
    expect(await open(store).update(add('a'))).toMatchObject({ notes: ['a'] });
    expect(await stored(store)).toEqual(['a']);
  });

  it('shows a change left for the next write, and writes both together', async () => {
    const store = memoryStore();
    const document = open(store);
    document.updateLater(add('a'));
    document.updateLater(add('b'));
    expect((await document.cached()).notes).toEqual(['a', 'b']);
    expect(await stored(store)).toEqual([]);
    expect((await document.update(add('c'))).recentWrites).toHaveLength(1);
    expect(await stored(store)).toEqual(['a', 'b', 'c']);
    expect((await document.update(add('d'))).notes).toEqual(['a', 'b', 'c', 'd']);
  });

  it('keeps a change that is left during a write for the write after it', async () => {
    const store = memoryStore();
    const document = open(store);
    const writing = document.update(add('a'));
    await document.cached();
    document.updateLater(add('b'));
    await writing;
    expect((await document.cached()).notes).toEqual(['a', 'b']);
    expect(await stored(store)).toEqual(['a']);
    await document.flush();
    expect(await stored(store)).toEqual(['a', 'b']);
  });

  it('I5: applies a change that was left to content that another process has written', async () => {
    const store = memoryStore();
    const [one, other] = [open(store), open(store)];
    await one.cached();
    one.updateLater(add('a'));
    await other.update(add('b'));
    await one.flush();
    expect(await stored(store)).toEqual(['b', 'a']);
  });

  it('keeps a change that was left if its write fails', async () => {
    const memory = memoryStore();
    let isBroken = true;
    const document = open({
      ...memory,
      put: (...args) => (isBroken ? Promise.reject(new Error('broken')) : memory.put(...args)),
    });
    document.updateLater(add('a'));
    await expect(document.flush()).rejects.toThrow('broken');
    isBroken = false;
    await document.flush();
    expect(await stored(memory)).toEqual(['a']);
  });

  it('I5: begins with its given content without a read, unless another process was first', async () => {
    const memory = memoryStore();
    let reads = 0;
    const store: ObjectStore = {
      ...memory,
      get(key) {
        reads += 1;
        return memory.get(key);
      },
    };
    const first = { notes: ['first'], recentWrites: [] };
    const begun = () =>
      new CasDocument({ store, key: KEY, parse, first, newId: () => `id-${++ids}`, pause: async () => {} });
    const [one, other] = [begun(), begun()];
    expect(await one.cached()).toEqual(first);
    await one.update(add('a'));
    expect(reads).toBe(0);
    await other.update((current) => ({ ...current, notes: [...current.notes, 'b'] }));
    expect(await stored(memory)).toEqual(['first', 'a', 'b']);
  });

  it.each([
    ['its first write failed', 'refused', ['first', 'b']],
    ['the response to its first write was lost', 'lost', ['first', 'a', 'b']],
  ] as const)('still begins as it is told where %s', async (_name, fate, notes) => {
    const memory = memoryStore();
    const store = losesAnswers(memory, (put) => (put === 0 ? fate : 'answered'));
    const first = { notes: ['first'], recentWrites: [] };
    const document = new CasDocument({
      ...{ store, key: KEY, parse, first, newId: () => `id-${++ids}`, pause: async () => {} },
    });
    await document.update(add('a')).catch(() => {});
    await document.update(add('b'));
    expect(await stored(memory)).toEqual(notes);
  });

  it('does not begin anew if it was written and is gone', async () => {
    const memory = memoryStore();
    const first = { notes: ['first'], recentWrites: [] };
    const document = new CasDocument({
      ...{ store: memory, key: KEY, parse, first, newId: () => `id-${++ids}`, pause: async () => {} },
    });
    await document.update(add('a'));
    await memory.delete([KEY]);
    expect((await document.refresh()).notes).toEqual([]);
  });

  it('does not count as written if the store fails for another reason than a lost response', async () => {
    const memory = memoryStore();
    const refusing: ObjectStore = {
      ...memory,
      async put(...args) {
        await memory.put(...args);
        throw new BrandReportsError('config', 'aws_refused', 'not allowed');
      },
    };
    await expect(open(refusing).update(add('a'))).rejects.toMatchObject({ code: 'aws_refused' });
  });

  it('writes nothing for a change that returns the same object', async () => {
    const store = losesAnswers(memoryStore(), () => 'answered');
    await open(store).update((current) => current);
    expect(store.puts).toBe(0);
  });

  it('batches the changes that arrive during a write into the next write, in order', async () => {
    const memory = memoryStore();
    const gate = Promise.withResolvers<void>();
    const store = losesAnswers(
      { ...memory, put: (...put) => gate.promise.then(() => memory.put(...put)) },
      () => 'answered',
    );
    const document = open(store);
    const first = document.update(add('a'));
    await new Promise(setImmediate);
    const others = ['b', 'c', 'd'].map((note) => document.update(add(note)));
    gate.resolve();
    const values = await Promise.all([first, ...others]);
    expect(store.puts).toBe(2);
    expect(values.map(({ notes }) => notes.join(''))).toEqual(['a', 'abcd', 'abcd', 'abcd']);
  });

  it('counts as missing if it is damaged and recovers, until a change overwrites the object', async () => {
    const store = memoryStore();
    await store.put(KEY, Buffer.from('?'), { ifAbsent: true });
    const document = new CasDocument({
      ...{ store, key: KEY, parse, newId: () => `id-${++ids}`, pause: async () => {}, recovers: true },
    });
    expect(await document.update(add('a'))).toMatchObject({ notes: ['a'] });
    expect(await stored(store)).toEqual(['a']);
  });

  it('is refused if a program with another format of lakes wrote it, even if it recovers', async () => {
    const store = memoryStore();
    await store.put(KEY, Buffer.from('{"version":1}'), { ifAbsent: true });
    const document = new CasDocument({
      ...{ store, key: KEY, parse, newId: () => `id-${++ids}`, pause: async () => {}, recovers: true },
    });
    const refused = {
      kind: 'config',
      code: 'other_format',
      message: expect.stringContaining('has format 1;'),
    };
    await expect(document.update(add('a'))).rejects.toMatchObject(refused);
  });

  it.each([
    ['another error', new BrandReportsError('config', 'unknown_report', 'no')],
    ['a bug', new RangeError('a bug')],
  ])('does not recover from %s', async (_name, error) => {
    const store = memoryStore();
    await store.put(KEY, Buffer.from('{}'), { ifAbsent: true });
    const failing = () => {
      throw error;
    };
    const document = new CasDocument({
      ...{ store, key: KEY, parse: failing, newId: () => 'id', pause: async () => {}, recovers: true },
    });
    await expect(document.cached()).rejects.toBe(error);
  });

  it('keeps the ids of its last twenty writes', async () => {
    const document = open(memoryStore());
    for (let write = 0; write < 25; write += 1) await document.update(add('a'));
    const { recentWrites } = await document.refresh();
    expect(recentWrites).toEqual(Array.from({ length: 20 }, (_, index) => `id-${ids - 19 + index}`));
  });

  it('does not retry a change that threw, even if it would fit the content of another process', async () => {
    const memory = memoryStore();
    const rival = open(memory);
    let puts = 0;
    const store: ObjectStore = {
      ...memory,
      async put(...put) {
        if (++puts === 1) await rival.update(add('rival'));
        return memory.put(...put);
      },
    };
    const document = open(store);
    const behindRival = (current: Notes) => {
      if (!current.notes.includes('rival')) throw new RangeError('too early');
      return add('refused')(current);
    };
    const changes = [add('a'), behindRival, add('b')].map((change) => document.update(change));
    const outcomes = await Promise.allSettled(changes);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await stored(memory)).toEqual(['rival', 'a', 'b']);
  });

  it('gives up with an error after too many lost races, and works afterwards', async () => {
    const memory = memoryStore();
    const rival = open(memory);
    const rounds: number[] = [];
    let races = true;
    const store: ObjectStore = {
      ...memory,
      async put(...put) {
        if (races) await rival.update(add('rival'));
        return memory.put(...put);
      },
    };
    const document = open(store, async (round) => void rounds.push(round));
    await expect(document.update(add('slow'))).rejects.toMatchObject({
      kind: 'transient',
      code: 'contended',
      message: `${KEY} was changed by others 40 times in a row while this run tried to change it. Run again.`,
    });
    expect(rounds).toEqual(Array.from({ length: 39 }, (_, index) => index + 1));
    races = false;
    await document.update(add('late'));
    expect((await stored(memory)).filter((note) => note !== 'rival')).toEqual(['late']);
  });

  it('rejects all changes of a write that the store fails, and reads again before the next write', async () => {
    const memory = memoryStore();
    await open(memory).update(add('before'));
    let down = true;
    const failing = new BrandReportsError('config', 'aws_refused', 'no access');
    const store: ObjectStore = {
      ...memory,
      async put(...put) {
        if (down) throw failing;
        return memory.put(...put);
      },
    };
    const document = open(store);
    const outcomes = await Promise.allSettled([document.update(add('a')), document.update(add('b'))]);
    expect(outcomes).toEqual([
      { status: 'rejected', reason: failing },
      { status: 'rejected', reason: failing },
    ]);
    await open(memory).update(add('meanwhile'));
    down = false;
    await document.update(add('after'));
    expect(await stored(memory)).toEqual(['before', 'meanwhile', 'after']);
  });

  it('is parsed once while a read finds the version that is known', async () => {
    let parsed = 0;
    const parseOnce = (found: Json | undefined) => {
      parsed += 1;
      return parse(found);
    };
    const document = new CasDocument({
      ...{ store: memoryStore(), key: KEY, parse: parseOnce, newId: () => 'id', pause: async () => {} },
    });
    await document.update(add('a'));
    expect([(await document.refresh()).notes, parsed]).toEqual([['a'], 1]);
  });
});

describe('a writer whose response was lost', () => {
  it.each<[string, PutFate, number]>([
    ['an error, and no other write follows', 'lost', 0],
    ['an error, and as many writers have built on it as ids are kept', 'lost', 19],
    ['a conflict with itself, and another writer has built on it', 'denied', 1],
    ['a conflict with itself, and as many writers have built on it as ids are kept', 'denied', 19],
  ])('I4: recognises its own write by its id: %s', async (_name, fate, others) => {
    const memory = memoryStore();
    const rival = open(memory);
    const build = async () => {
      for (let other = 0; other < others; other += 1) await rival.update(add('other'));
    };
    await open(memory).update(add('before'));
    const store = losesAnswers(memory, (put) => (put === 0 ? fate : 'answered'), build);
    const document = open(store);
    expect((await document.update(add('mine'))).notes).toEqual(['before', 'mine']);
    const built = Array.from({ length: others }, () => 'other');
    expect(await stored(memory)).toEqual(['before', 'mine', ...built]);
    expect((await document.cached()).notes).toEqual(['before', 'mine', ...built]);
    expect(store.puts).toBe(1);
  });
});

const fates = fc.array(fc.constantFrom<PutFate>('answered', 'answered', 'lost', 'denied', 'refused'), {
  maxLength: 24,
});
const writers = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });

/** A store whose operations take effect, and respond, in any order. */
function scheduled(store: ObjectStore, scheduler: fc.Scheduler): ObjectStore {
  const turn = () => scheduler.schedule(Promise.resolve());
  return {
    ...store,
    async get(key) {
      await turn();
      const found = await store.get(key);
      await turn();
      return found;
    },
    async put(...put) {
      await turn();
      const outcome = await store.put(...put);
      await turn();
      return outcome;
    },
  };
}

describe('many writers of one document', () => {
  it('I5: lose no change and apply none twice, in any order of reads and writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), writers, fates, async (scheduler, counts, fated) => {
        const memory = memoryStore();
        let puts = 0;
        const store = losesAnswers(scheduled(memory, scheduler), () => fated[puts++] ?? 'answered');
        const work = counts.flatMap((count, writer) => {
          const document = open(store);
          return Array.from({ length: count }, async (_, change) => {
            const note = `${writer}.${change}`;
            await scheduler.schedule(Promise.resolve());
            const pendingRead = document.refresh();
            const written = await document.update(add(note)).then(
              ({ notes }) => notes.includes(note),
              () => false,
            );
            await pendingRead;
            return { note, written, known: (await document.cached()).notes.includes(note) };
          });
        });
        const outcomes = await scheduler.waitFor(Promise.all(work));
        expect((await stored(memory)).sort()).toEqual(
          outcomes
            .filter(({ written }) => written)
            .map(({ note }) => note)
            .sort(),
        );
        expect(outcomes.filter(({ written, known }) => written && !known)).toEqual([]);
      }),
      runs(300),
    );
  });
});

describe('a damaged document', () => {
  const valid = '{"notes":["a"],"recentWrites":[]}';

  it.each<[string, Uint8Array]>([
    ['nothing at all', Buffer.from('')],
    ['text that is not JSON', Buffer.from('<html>')],
    ['two documents', Buffer.from(valid + valid)],
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from('{"notes":["'), Buffer.from([0xff]), Buffer.from('"],"recentWrites":[]}')]),
    ],
    ['lists nested without end', Buffer.from('['.repeat(200_000))],
    ['no ids of its last writes', Buffer.from('{"notes":[]}')],
  ])('is refused with its key, and is not changed: %s', async (_name, body) => {
    const memory = memoryStore();
    await memory.put(KEY, body, { ifAbsent: true });
    const store = losesAnswers(memory, () => 'answered');
    const document = open(store);
    const refusal = { kind: 'config', code: 'damaged_document', message: expect.stringContaining(KEY) };
    await expect(document.cached()).rejects.toMatchObject(refusal);
    await expect(document.refresh()).rejects.toMatchObject(refusal);
    await expect(document.update(add('b'))).rejects.toMatchObject(refusal);
    expect(store.puts).toBe(0);
    expect(Buffer.from(memory.objects.get(KEY)?.body ?? []).equals(body)).toBe(true);
  });
});

describe('a document that is read whether it is damaged or not', () => {
  it('returns its content, or nothing if it is damaged', async () => {
    const store = memoryStore();
    expect(await undamaged(open(store).refresh())).toEqual({ notes: [], recentWrites: [] });
    await store.put(KEY, Buffer.from('{'), { ifAbsent: true });
    expect(await undamaged(open(store).refresh())).toBeUndefined();
  });

  it.each<[string, Error]>([
    ['the store', new BrandReportsError('transient', 'aws_unavailable', 'no answer')],
    ['the program', new TypeError('not a function')],
  ])('throws a fault of %s', async (_name, error) => {
    const store = { ...memoryStore(), get: () => Promise.reject(error) };
    await expect(undamaged(open(store).refresh())).rejects.toBe(error);
  });
});

describe('the message about damage', () => {
  const nextStep =
    'Nothing was changed. Next step: "brand-reports verify" shows what can be put back, and this command does it: "brand-reports verify --restore"';
  const schema = storedObject(() => ({
    name: z.string(),
    days: z.record(
      z.string(),
      storedObject(() => ({ count: storedCount, at: z.optional(storedTime) })),
    ),
  }));
  const problemOf = (stored: Json) => {
    try {
      parseDocument(schema, KEY, stored);
    } catch (error) {
      return error instanceof BrandReportsError ? error.context.problem : error;
    }
    return 'nothing';
  };

  it('names the object, the problem, its cause and the next step', () => {
    expect(() => parseJsonDocument(KEY, Buffer.from('{'))).toThrow(
      expect.objectContaining({
        ...{ kind: 'config', code: 'damaged_document', context: { problem: 'it is not JSON' } },
        message: `${KEY} cannot be used: it is not JSON. ${nextStep}`,
        cause: expect.objectContaining({ name: 'SyntaxError' }),
      }),
    );
  });

  it.each<[string, Json, string]>([
    ['no problem', { name: 'a', days: { d: { count: 0, at: '2026-01-31T10:00:00Z' } } }, 'nothing'],
    ['the document', 7, 'the document is 7: Invalid input: expected object, received number'],
    [
      'a field that is missing',
      { days: {} },
      'name is undefined: Invalid input: expected string, received undefined',
    ],
    [
      'a time that is not a time',
      { name: 'a', days: { d: { count: 1, at: 'x'.repeat(200) } } },
      `days.d.at is "${'x'.repeat(79)}: Invalid ISO datetime`,
    ],
  ])('names the field, its value and what was expected: %s', (_name, stored, problem) => {
    expect(problemOf(stored)).toBe(problem);
  });
});
