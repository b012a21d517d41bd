-- Groups of strings that grow from slices into dictionaries keep the coder that
-- their keys were made with.
SET client_min_messages = warning;

CREATE TABLE grow (t text);
INSERT INTO grow SELECT 'https://www.example.com/' || md5(i::text) FROM generate_series(1, 2000) i;
CREATE INDEX grow_t ON grow USING rencoder (t) WITH (autosummarize = off, pages_per_range = 1);
-- The second group grows from slices, the third is made at once.
INSERT INTO grow SELECT 'https://www.example.com/' || md5((i % 60)::text) FROM generate_series(1, 18000) i;
SELECT rencoder_summarize_new_values('grow_t') > 150 AS summarized;
SELECT group_no, storage, format FROM rencoder_groups('grow_t');
INSERT INTO grow SELECT 'https://www.example.com/' || md5((i % 60)::text) FROM generate_series(18001, 40000) i;
SELECT rencoder_summarize_new_values('grow_t') > 200 AS summarized;
SELECT group_no, storage, format FROM rencoder_groups('grow_t');
SELECT rencoder_index_check('grow_t', true);
SET enable_seqscan = off;
SELECT count(*) FROM grow WHERE t = 'https://www.example.com/' || md5('7');
SET enable_bitmapscan = off;
SELECT count(*) FROM grow WHERE t = 'https://www.example.com/' || md5('7');

DROP TABLE grow;
