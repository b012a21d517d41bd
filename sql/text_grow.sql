-- Groups of strings that grow keep the coder that their keys were made with.
SET client_min_messages = warning;
SET enable_indexscan = off;

CREATE TABLE grow (t text);
INSERT INTO grow SELECT 'https://www.example.com/' || md5(i::text) FROM generate_series(1, 2000) i;
CREATE INDEX grow_t ON grow USING rencoder (t)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
-- The second group grows from slices, the third is made at once.
INSERT INTO grow SELECT 'https://www.example.com/' || md5((i % 60)::text)
FROM generate_series(1, 18000) i;
SELECT rencoder_summarize_new_values('grow_t') > 150 AS summarized;
SELECT group_no, storage FROM rencoder_groups('grow_t');
INSERT INTO grow SELECT 'https://www.example.com/' || md5((i % 60)::text)
FROM generate_series(18001, 40000) i;
SELECT rencoder_summarize_new_values('grow_t') > 200 AS summarized;
SELECT group_no, storage FROM rencoder_groups('grow_t');
SELECT rencoder_index_check('grow_t', true);
SET enable_seqscan = off;
SELECT count(*) FROM grow WHERE t = 'https://www.example.com/' || md5('7');
SET enable_bitmapscan = off;
SELECT count(*) FROM grow WHERE t = 'https://www.example.com/' || md5('7');

DROP TABLE grow;

-- Whether the coders of all groups are there is asked of one copy of their list:
-- groups of a former coder cost no page more.
SET enable_seqscan = on;
CREATE TABLE old_groups (id int, t text, pad text);
ALTER TABLE old_groups ALTER pad SET STORAGE plain;
INSERT INTO old_groups SELECT g, 'first/' || md5(g::text), repeat('x', 1900)
FROM generate_series(1, 6400) g;
CREATE INDEX old_groups_t ON old_groups USING rencoder (t)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
INSERT INTO old_groups SELECT g, 'second and longer/' || md5(g::text), repeat('x', 1900)
FROM generate_series(6401, 14000) g;
SELECT rencoder_summarize_new_values('old_groups_t') > 1000 AS summarized;
CREATE FUNCTION pages_read(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON, TIMING OFF, SUMMARY OFF) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int
		+ (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT pages_read($$SELECT rencoder_summarize_range('old_groups_t', 0)$$) > 0 AS warm;
SELECT pages_read($$SELECT rencoder_summarize_range('old_groups_t', 0)$$) AS pages;
DROP TABLE old_groups;
DROP FUNCTION pages_read;
